//! Which messages of a reading are news, and from whom. Pure but for the refusals it hands back.
//! It must never look at a display name.

use jiff::{SignedDuration, Timestamp};

use super::cursor::ChatCursor;
use super::draft::{Version, draft, key};
use super::known::Known;
use super::reading::Pages;
use super::wire::{Message, MessageKind};
use crate::config::GroupMessages;
use crate::gate::{Agent, ChatRule, Gate, Reason, Sender, Stranger, Verdict};
use crate::permission::{self, Answer, Book};
use crate::record::{Channel, Draft};
use crate::sanitize::{Context, Limits, Markup, clean_name, sanitize};

/// The stamp of a delivered message that was then deleted.
const DELETED: &str = "deleted";

/// The least step of a time in Graph.
const MOMENT: SignedDuration = SignedDuration::from_millis(1);

/// Graph's word for a chat of two.
const ONE_ON_ONE: &str = "oneOnOne";

/// What judging needs to know.
pub(super) struct Bench<'a> {
    pub(super) gate: &'a Gate,
    pub(super) known: &'a Known,
    pub(super) agent: Agent,
    pub(super) group_messages: GroupMessages,
    /// Since when the agent watches this chat, as it may; what was written before stays unheard.
    pub(super) watched_from: Option<Timestamp>,
    /// The server's time.
    pub(super) now: Timestamp,
    /// How far it is ahead of ours.
    pub(super) skew: SignedDuration,
    /// Whether the journal has a record of this key.
    pub(super) delivered: &'a dyn Fn(&str) -> bool,
    /// What the operator was asked.
    pub(super) asked: &'a Book,
    /// Whether what can't be judged now holds up what comes after it.
    pub(super) keeps_order: bool,
}

/// A message that is news, with what orders it among others.
#[derive(Debug)]
pub(super) struct News {
    pub(super) written: Timestamp,
    pub(super) draft: Draft,
}

/// A message that was refused.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) message_id: String,
    /// `tenant/object`, as far as it is known.
    pub(super) who: Option<String>,
    pub(super) reason: Reason,
    /// The author, where it is somebody who could be told a pairing code.
    pub(super) stranger: Option<Stranger>,
}

/// What came of a reading.
#[derive(Debug)]
pub(super) struct Judged {
    /// Oldest first.
    pub(super) news: Vec<News>,
    pub(super) refused: Vec<Refused>,
    /// Answers to permission requests; no model sees them.
    pub(super) answers: Vec<Answer>,
    /// The position once the news are in the journal.
    pub(super) cursor: ChatCursor,
    /// When somebody last did something there.
    pub(super) active_at: Option<Timestamp>,
    /// Something can't be judged now; the position stays before it.
    pub(super) is_held: bool,
}

impl Bench<'_> {
    /// Judges a reading of a chat that had been read up to `cursor`.
    pub(super) fn judge(
        &self,
        chat_id: &str,
        chat_kind: &str,
        mut cursor: ChatCursor,
        pages: &Pages,
    ) -> Judged {
        let mut news = Vec::new();
        let mut refused = Vec::new();
        let mut answers = Vec::new();
        let mut active_at = None;
        let mut held: Option<Timestamp> = None;
        for message in &pages.messages {
            active_at = active_at.max(message.modified);
            // A stamp from the future must not hide what comes before it.
            let modified = message.modified.unwrap_or(cursor.read_to).min(self.now);
            cursor.read_to = cursor.read_to.max(modified);
            let Some(version) = self.version(chat_id, &cursor, message) else { continue };
            let stamp = stamp(message);
            match self.verdict(chat_id, chat_kind, message) {
                Verdict::Own => continue,
                Verdict::Refuse(reason) => {
                    cursor.note_passed(&message.id, stamp);
                    refused.push(self.refused(chat_id, chat_kind, message, version, reason));
                    continue;
                }
                Verdict::Later => {
                    held = Some(held.map_or(modified, |first| first.min(modified)));
                    if self.keeps_order {
                        break;
                    }
                    continue;
                }
                Verdict::Accept => {}
            }
            if version == Version::First
                && let Some(answer) = self.answer(chat_id, chat_kind, message)
            {
                cursor.note_passed(&message.id, stamp);
                answers.push(answer);
                continue;
            }
            if !stamp.is_empty() {
                // Of the others, the journal's keys tell.
                cursor.note_delivered(&message.id, stamp);
            }
            news.push(News {
                written: message.created.unwrap_or(self.now),
                draft: draft(chat_id, chat_kind, message, version, &self.agent, self.now),
            });
        }
        if let Some(before) = held.and_then(|at| at.checked_sub(MOMENT).ok()) {
            cursor.read_to = cursor.read_to.min(before).max(cursor.floor);
        }
        Judged { news, refused, answers, cursor, active_at, is_held: held.is_some() }
    }

    /// What the message is to somebody who has read up to `cursor`; `None` when it is nothing new.
    fn version(&self, chat_id: &str, cursor: &ChatCursor, message: &Message) -> Option<Version> {
        if message.kind == MessageKind::System
            || message.created.is_some_and(|created| created <= cursor.floor)
            || cursor.passed.get(&message.id).is_some_and(|passed| passed == stamp(message))
            || self.known.was_sent(chat_id, &message.id)
        {
            return None;
        }
        let stamp = cursor.recent.get(&message.id);
        if stamp.is_none() && !(self.delivered)(&key(chat_id, message)) {
            return (!message.deleted).then_some(Version::First);
        }
        let stamp = stamp.map_or("", String::as_str);
        if message.deleted {
            return (stamp != DELETED).then_some(Version::Deletion);
        }
        (!message.edited.is_empty() && stamp != message.edited).then_some(Version::Edit)
    }

    fn verdict(&self, chat_id: &str, chat_kind: &str, message: &Message) -> Verdict {
        let written = message.created.and_then(|at| at.checked_sub(self.skew).ok());
        let verdict = self.gate.decide_at(&sender(message), &self.agent, written);
        if !matches!(verdict, Verdict::Accept | Verdict::Later) {
            return verdict;
        }
        // What nobody would be heard with need not wait until its author is known.
        let only_mentioned = match self.gate.chat_rule(chat_id) {
            Some(ChatRule::Off) => return Verdict::Refuse(Reason::ChatOff),
            Some(ChatRule::All) => false,
            Some(ChatRule::Mentioned) => true,
            None => self.group_messages == GroupMessages::Mentioned,
        };
        let watched =
            self.watched_from.is_some_and(|from| message.created.is_none_or(|created| created > from));
        if only_mentioned && chat_kind != ONE_ON_ONE && !watched && !self.mentions_agent(message) {
            let once_whole = self.gate.was_heard_whole(chat_id);
            return if once_whole { Verdict::Later } else { Verdict::Refuse(Reason::NotMentioned) };
        }
        verdict
    }

    fn refused(
        &self,
        chat_id: &str,
        chat_kind: &str,
        message: &Message,
        version: Version,
        reason: Reason,
    ) -> Refused {
        let sender = sender(message);
        let asks = reason == Reason::NotListed
            && chat_kind == ONE_ON_ONE
            && version == Version::First
            && message.edited.is_empty()
            && self.gate.chat_rule(chat_id) != Some(ChatRule::Off);
        let ids = asks.then(|| sender.person(&self.agent)).flatten();
        let stranger = ids.map(|(tenant_id, object_id)| Stranger {
            tenant_id,
            object_id,
            name: message.sender.name.as_deref().map(clean_name).filter(|name| !name.is_empty()),
            chat_id: chat_id.to_owned(),
            channel: Channel::Teams,
        });
        Refused { message_id: message.id.clone(), who: sender.shown(&self.agent), reason, stranger }
    }

    /// The answer to something that was asked of this person in this chat: words of its own in the exact form, in a
    /// message that was never edited and that carries nothing else.
    fn answer(&self, chat_id: &str, chat_kind: &str, message: &Message) -> Option<Answer> {
        let is_bare =
            message.edited.is_empty() && message.attachments.is_empty() && message.mentions.is_empty();
        if self.asked.questions.is_empty() || chat_kind != ONE_ON_ONE || !is_bare {
            return None;
        }
        let markup = if message.html { Markup::Html } else { Markup::Text };
        let clean = sanitize(&message.content, markup, &Context::default(), &Limits::default());
        if !clean.removed.is_empty() || !clean.flagged.is_empty() || clean.left_out_bytes > 0 {
            return None;
        }
        let (code, behavior) = permission::parse(&clean.text)?;
        let answer = Answer {
            code,
            behavior,
            chat_id: chat_id.to_owned(),
            ids: sender(message).person(&self.agent)?,
            message_id: message.id.clone(),
            written: message.created?,
        };
        self.asked.knows(&answer).then_some(answer)
    }

    fn mentions_agent(&self, message: &Message) -> bool {
        let Some(own) = &self.agent.object_id else { return false };
        let users = message.mentions.iter().filter_map(|m| m.user_id.as_deref());
        users.into_iter().any(|id| id.eq_ignore_ascii_case(own.as_str()))
    }
}

fn sender(message: &Message) -> Sender<'_> {
    Sender {
        tenant_id: message.sender.tenant_id.as_deref(),
        object_id: message.sender.object_id.as_deref(),
        kind: message.sender.kind,
    }
}

/// What tells this state of a message from others.
fn stamp(message: &Message) -> &str {
    if message.deleted { DELETED } else { &message.edited }
}
