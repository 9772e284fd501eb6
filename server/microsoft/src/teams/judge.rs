//! Decides, without side effects, which messages of a reading are news, and returns the refusals.
//! It must never judge by a display name.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::GroupMessages;
use super::cursor::{ChatCursor, RECENT_MAX};
use super::draft::{draft, key};
use super::known::Known;
use super::reading::Pages;
use super::wire::{Message, MessageKind};
use crate::incoming::{Version, display_name, permission_answer};
use entraclaw_inbox::gate::{Agent, ChatRule, Gate, Reason, Stranger, Verdict};
use entraclaw_inbox::journal::Held;
use entraclaw_inbox::permission::{Answer, Book};
use entraclaw_inbox::record::{Channel, Draft};

/// The stamp of a delivered message that was then deleted.
const DELETED: &str = "deleted";

/// The smallest step between two times in Graph.
const MOMENT: SignedDuration = SignedDuration::from_millis(1);
/// How long the journal certainly has a key: retention never touches today and yesterday.
const KEYS_LAST: SignedDuration = SignedDuration::from_hours(24);

/// Graph's word for a chat of two people.
const ONE_ON_ONE: &str = "oneOnOne";

/// The facts by which messages are judged.
pub(super) struct Bench<'a> {
    pub(super) gate: &'a Gate,
    pub(super) known: &'a Known,
    pub(super) agent: Agent,
    pub(super) group_messages: GroupMessages,
    /// When the agent began to watch this chat, where it may; messages from before that get no benefit from
    /// it.
    pub(super) watched_from: Option<Timestamp>,
    /// The server's time.
    pub(super) now: Timestamp,
    /// How far the server's time is ahead of this machine's.
    pub(super) skew: SignedDuration,
    /// Tells where the journal has the record of this key.
    pub(super) held: &'a dyn Fn(&str) -> Held,
    /// How far each reading overlaps the last one.
    pub(super) overlap: SignedDuration,
    /// The permission requests that wait for an answer.
    pub(super) asked: &'a Book,
    /// Whether a message that can't be judged now holds up the messages after it.
    pub(super) keeps_order: bool,
}

/// How far a chat had been read before this reading.
#[derive(Clone, Copy)]
struct Before {
    /// Up to here, messages that turn up late have been looked for as well.
    settled_to: Timestamp,
    read_to: Timestamp,
}

/// A message that is news, with the time by which it is ordered among others.
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
    /// The author, where it is a person who may be told a pairing code.
    pub(super) stranger: Option<Stranger>,
}

/// The outcome of judging one reading.
#[derive(Debug)]
pub(super) struct Judged {
    /// Oldest first.
    pub(super) news: Vec<News>,
    pub(super) refused: Vec<Refused>,
    /// Answers to permission requests; no model sees them.
    pub(super) answers: Vec<Answer>,
    /// The position once the news are in the journal.
    pub(super) cursor: ChatCursor,
    /// The time of the last activity in the chat.
    pub(super) active_at: Option<Timestamp>,
    /// A message can't be judged now; the position stays before it.
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
        let before = Before { settled_to: cursor.unsettled_from(self.overlap), read_to: cursor.read_to };
        for message in &pages.messages {
            active_at = active_at.max(message.modified);
            // A stamp from the future must not hide earlier messages.
            let modified = message.modified.unwrap_or(cursor.read_to).min(self.now);
            cursor.read_to = cursor.read_to.max(modified);
            let Some(version) = self.version(chat_id, &mut cursor, before, message) else { continue };
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
            cursor.note_delivered(&message.id, stamp, message.created);
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

    /// The version of a message to deliver after a reading up to `cursor`; `None` when it is nothing new.
    fn version(
        &self,
        chat_id: &str,
        cursor: &mut ChatCursor,
        before: Before,
        message: &Message,
    ) -> Option<Version> {
        if message.kind != MessageKind::Text
            || message.created.is_some_and(|created| created <= cursor.floor)
            || cursor.passed.get(&message.id).is_some_and(|passed| passed == stamp(message))
            || self.known.was_sent(chat_id, &message.id)
        {
            return None;
        }
        let stamp = cursor.recent.get(&message.id).map(String::as_str);
        let is_known = stamp.is_some() || cursor.near.contains_key(&message.id);
        let held = if is_known { Held::OnDisk } else { (self.held)(&key(chat_id, message)) };
        let stamp = stamp.unwrap_or("");
        match held {
            Held::Nowhere if message.deleted || self.is_history(cursor, before, message) => None,
            Held::InMemory | Held::OnDisk if message.deleted => {
                (stamp != DELETED).then_some(Version::Deletion)
            }
            Held::InMemory | Held::OnDisk if !message.edited.is_empty() => {
                (stamp != message.edited).then_some(Version::Edit)
            }
            // A record that is only in memory is appended again: the position must not pass it before the
            // disk has it.
            Held::Nowhere | Held::InMemory => Some(Version::First),
            Held::OnDisk => {
                cursor.note_near(&message.id, message.created);
                None
            }
        }
    }

    /// Whether a message that no memory knows was read before: its author has not changed it since an earlier
    /// reading went past it, and no memory reaches back to it. A reaction brings such a message again.
    fn is_history(&self, cursor: &ChatCursor, before: Before, message: &Message) -> bool {
        let edited = if message.edited.is_empty() { message.created } else { message.edited.parse().ok() };
        let (Some(created), Some(edited)) = (message.created, edited) else { return false };
        let written = created.max(edited);
        let key_may_be_gone = self.now.duration_since(written) > KEYS_LAST;
        if written <= before.settled_to {
            return key_may_be_gone || is_forgotten(&cursor.passed, &message.id);
        }
        // The ids of delivered messages tell them from messages that turned up late.
        written <= before.read_to && key_may_be_gone && is_forgotten(&cursor.near, &message.id)
    }

    fn verdict(&self, chat_id: &str, chat_kind: &str, message: &Message) -> Verdict {
        let written = message.created.and_then(|at| at.checked_sub(self.skew).ok());
        let verdict = self.gate.decide_at(&message.sender.as_sender(), &self.agent, written);
        if !matches!(verdict, Verdict::Accept | Verdict::Later) {
            return verdict;
        }
        // A message that would not be heard from any author need not wait until its author is known.
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
        let sender = message.sender.as_sender();
        let asks = reason == Reason::NotListed
            && chat_kind == ONE_ON_ONE
            && version == Version::First
            && message.edited.is_empty()
            && self.gate.chat_rule(chat_id) != Some(ChatRule::Off);
        let ids = asks.then(|| sender.person(&self.agent)).flatten();
        let stranger = ids.map(|(tenant_id, object_id)| Stranger {
            tenant_id,
            object_id,
            name: display_name(message.sender.name.as_deref()),
            chat_id: chat_id.to_owned(),
            channel: Channel::Teams,
        });
        Refused { message_id: message.id.clone(), who: sender.shown(&self.agent), reason, stranger }
    }

    /// The answer to a permission request that this person was asked in this chat. The message must have
    /// exactly the form of an answer, must never have been edited and must carry nothing else.
    fn answer(&self, chat_id: &str, chat_kind: &str, message: &Message) -> Option<Answer> {
        let is_bare =
            message.edited.is_empty() && message.attachments.is_empty() && message.mentions.is_empty();
        if self.asked.questions.is_empty() || chat_kind != ONE_ON_ONE || !is_bare {
            return None;
        }
        let (code, behavior) = permission_answer(&message.content, message.html)?;
        let answer = Answer {
            code,
            behavior,
            chat_id: chat_id.to_owned(),
            ids: message.sender.as_sender().person(&self.agent)?,
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

/// Whether a full memory begins later than this message.
fn is_forgotten<T>(memory: &BTreeMap<String, T>, message_id: &str) -> bool {
    memory.len() >= RECENT_MAX
        && memory.first_key_value().is_some_and(|(first, _)| message_id < first.as_str())
}

/// The stamp that tells this state of a message from its other states.
fn stamp(message: &Message) -> &str {
    if message.deleted { DELETED } else { &message.edited }
}
