//! Which messages of a reading are news, and from whom. Pure but for the refusals it hands back.
//! It must never look at a display name.

use jiff::Timestamp;

use super::cursor::ChatCursor;
use super::draft::{Version, draft, key};
use super::known::Known;
use super::reading::Pages;
use super::wire::{Message, MessageKind};
use crate::config::GroupMessages;
use crate::gate::{Agent, Gate, Reason, Sender, Verdict};
use crate::record::Draft;

/// The stamp of a delivered message that was then deleted.
const DELETED: &str = "deleted";

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
    /// Whether the journal has a record of this key.
    pub(super) delivered: &'a dyn Fn(&str) -> bool,
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
    pub(super) who: String,
    pub(super) reason: Reason,
}

/// What came of a reading.
#[derive(Debug)]
pub(super) struct Judged {
    /// Oldest first.
    pub(super) news: Vec<News>,
    pub(super) refused: Vec<Refused>,
    /// The position once the news are in the journal.
    pub(super) cursor: ChatCursor,
    /// When somebody last did something there.
    pub(super) active_at: Option<Timestamp>,
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
        let mut active_at = None;
        for message in &pages.messages {
            active_at = active_at.max(message.modified);
            // A stamp from the future must not hide what comes before it.
            let modified = message.modified.unwrap_or(cursor.read_to).min(self.now);
            cursor.read_to = cursor.read_to.max(modified);
            let Some(version) = self.version(chat_id, &cursor, message) else { continue };
            match self.verdict(chat_kind, message) {
                Verdict::Own => continue,
                Verdict::Refuse(reason) => {
                    let who = message.sender.object_id.clone().unwrap_or_default();
                    refused.push(Refused { message_id: message.id.clone(), who, reason });
                    continue;
                }
                Verdict::Accept => {}
            }
            let stamp = if message.deleted { DELETED } else { &message.edited };
            if !stamp.is_empty() {
                // Of the others, the journal's keys tell.
                cursor.note_delivered(&message.id, stamp);
            }
            news.push(News {
                written: message.created.unwrap_or(self.now),
                draft: draft(chat_id, chat_kind, message, version, &self.agent, self.now),
            });
        }
        Judged { news, refused, cursor, active_at }
    }

    /// What the message is to somebody who has read up to `cursor`; `None` when it is nothing new.
    fn version(&self, chat_id: &str, cursor: &ChatCursor, message: &Message) -> Option<Version> {
        if message.kind == MessageKind::System
            || message.created.is_some_and(|created| created <= cursor.floor)
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

    fn verdict(&self, chat_kind: &str, message: &Message) -> Verdict {
        let sender = Sender {
            tenant_id: message.sender.tenant_id.as_deref(),
            object_id: message.sender.object_id.as_deref(),
            kind: message.sender.kind,
        };
        let verdict = self.gate.decide(&sender, &self.agent);
        let watched =
            self.watched_from.is_some_and(|from| message.created.is_none_or(|created| created > from));
        let only_mentioned =
            self.group_messages == GroupMessages::Mentioned && chat_kind != "oneOnOne" && !watched;
        if verdict == Verdict::Accept && only_mentioned && !self.mentions_agent(message) {
            return Verdict::Refuse(Reason::NotMentioned);
        }
        verdict
    }

    fn mentions_agent(&self, message: &Message) -> bool {
        let Some(own) = &self.agent.object_id else { return false };
        let users = message.mentions.iter().filter_map(|m| m.user_id.as_deref());
        users.into_iter().any(|id| id.eq_ignore_ascii_case(own.as_str()))
    }
}
