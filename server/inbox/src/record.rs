//! A message from a person, in one shape for Teams, mail and bots, from the journal to every carrier.
//!
//! It must never hold raw text: the code that makes a [`Draft`] passes every text through `sanitize` first.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The channel that a message came from.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Channel {
    /// A Teams chat, read through Microsoft Graph.
    Teams,
    /// A mailbox, read through Microsoft Graph.
    Email,
    /// The Bot Framework endpoint.
    Bot,
    /// The result of work that a model asked for and that outlived the call. No person wrote it, and it can't
    /// be answered.
    Work,
}

impl Channel {
    /// All channels, in the order of [`Channel::index`].
    pub const ALL: [Self; 4] = [Self::Teams, Self::Email, Self::Bot, Self::Work];

    /// The channel's place in [`Channel::ALL`]. It is stored in the journal's indexes, so it must never
    /// change.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The channel's name in messages and on disk.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Teams => "teams",
            Self::Email => "email",
            Self::Bot => "bot",
            Self::Work => "work",
        }
    }
}

/// The name in `meta` of the consumer that a record is for; a record without it is for all consumers.
pub const CONSUMER_KEY: &str = "for";

/// The conversation id of all results of work.
pub const WORK_CHAT: &str = "work";
/// The prefix of the id of a result of work.
pub const WORK_ID: &str = "work-";
/// Why an answer to a result of work is not sent, and what helps.
pub const NO_REPLY: &str = "this is the result of work that you asked for, not a person's message; nothing was sent; write to a person by the chat_id or the id of their own message";

/// A message that has passed the gate and the sanitiser and is to be added to the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// The key that identifies the message when it is read again, unique over all channels (`teams/<chat
    /// id>/<message id>[/<edit stamp>]`).
    pub key: String,
    /// The id that the source gave it (Graph message id, `internetMessageId`, activity id).
    pub id: String,
    /// The channel.
    pub channel: Channel,
    /// The conversation; for mail the word `email`.
    pub chat_id: String,
    /// The sanitised display name. Never an identity: that is `sender_id` and `sender_tenant_id` in `meta`.
    pub from: String,
    /// When the message was written by the source's account, RFC 3339.
    pub ts: String,
    /// The text as every carrier shows it.
    pub content_text_sanitized: String,
    /// Further facts about the message, strings only. Always `chat_id`, `message_id`, `user`, `ts`.
    pub meta: BTreeMap<String, String>,
    /// The id of the message that this one is a later version of.
    pub edit_of: Option<String>,
    /// Whether the person took the message back.
    pub deleted: bool,
}

impl Draft {
    /// The size of all its texts together, in bytes.
    pub fn text_bytes(&self) -> usize {
        let edit_of = self.edit_of.as_ref().map_or(0, String::len);
        let meta: usize = self.meta.iter().map(|(name, value)| name.len() + value.len()).sum();
        let texts = [&self.key, &self.id, &self.chat_id, &self.from, &self.ts, &self.content_text_sanitized];
        texts.iter().map(|text| text.len()).sum::<usize>() + edit_of + meta
    }
}

/// A message in the journal: the seed's record with its place in the order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Record {
    /// Version of this shape; 1.
    pub v: u32,
    /// The place in the journal, from 1; see [`Record::after`].
    pub seq: u64,
    /// The place before this one, if no file ever held the places between. Their messages were shown from
    /// memory or dropped while the disk took no writes, or they are known to be lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// Dedup key; see [`Draft::key`].
    pub key: String,
    /// The source's id.
    pub id: String,
    /// When the journal took the message, RFC 3339, UTC.
    pub received_at: String,
    /// The channel.
    pub channel: Channel,
    /// The conversation.
    pub chat_id: String,
    /// The sanitised display name.
    pub from: String,
    /// When the message was written, RFC 3339.
    pub ts: String,
    /// The text as every carrier shows it.
    pub content_text_sanitized: String,
    /// Further facts about the message.
    pub meta: BTreeMap<String, String>,
    /// The id of the message that this one is a later version of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit_of: Option<String>,
    /// Whether the person took the message back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
    /// Whether this may be a message that the journal's files had and lost, so that a model may have been
    /// shown it before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restored: bool,
    /// Kept for the seed's readers. It stays empty, because the consumers' own files hold which messages they
    /// consumed.
    pub consumed_by: Vec<String>,
}

impl Record {
    /// The kind of a conversation with more than two people, such as `group`; `None` for a 1:1 chat.
    pub fn group_kind(&self) -> Option<String> {
        group_kind(&self.meta)
    }

    /// Whether the record is for this consumer: a person's message is for all, a result of work for the one
    /// that asked.
    pub fn is_for(&self, consumer: &str) -> bool {
        self.channel != Channel::Work || self.meta.get(CONSUMER_KEY).is_none_or(|one| one == consumer)
    }

    /// Makes a record of a draft, with its place and time.
    pub fn from_draft(draft: Draft, seq: u64, received_at: String) -> Self {
        let Draft { key, id, channel, chat_id, from, ts, content_text_sanitized, meta, edit_of, deleted } =
            draft;
        Self {
            v: 1,
            seq,
            after: None,
            key,
            id,
            received_at,
            channel,
            chat_id,
            from,
            ts,
            content_text_sanitized,
            meta,
            edit_of,
            deleted,
            restored: false,
            consumed_by: Vec::new(),
        }
    }
}

pub(crate) fn group_kind(meta: &BTreeMap<String, String>) -> Option<String> {
    let kind = meta.get("chat_type")?.to_lowercase();
    match kind.as_str() {
        "oneonone" | "personal" | "" => None,
        "groupchat" => Some("group".to_owned()),
        _ => Some(kind),
    }
}
