//! The channel push: `notifications/claude/channel`, which Claude Code shows to its model as a turn.
//!
//! It is a hint without acknowledgement, so it must never count as delivery. Its values must be strings, or
//! the host rejects the whole notification.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::record::Record;

/// The notification's method.
pub const METHOD: &str = "notifications/claude/channel";

/// The experimental capability that announces it, and that a client may declare too.
pub const CAPABILITY: &str = "claude/channel";

/// The most records that are looked back at when a session begins: new messages that came while no session
/// ran are pushed.
pub(crate) const BACKLOG_RECORDS_MAX: u64 = 200;

/// Parameters of the push.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChannelPush {
    /// The record's text, character for character.
    pub content: String,
    /// The message's source and circumstances.
    pub meta: ChannelMeta,
}

/// Further facts about the message: strings only, the same for every source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChannelMeta {
    /// The conversation to answer in.
    pub chat_id: String,
    /// The source's id of the message.
    pub message_id: String,
    /// The display name, never proof of identity.
    pub user: String,
    /// When the message was written, RFC 3339.
    pub ts: String,
    /// The id of the message that this one is a later version of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit_of: Option<String>,
    /// When the message was edited, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_at: Option<String>,
    /// `true` when the person took the message back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted: Option<String>,
    /// `true` when the message was handed to another session of the same agent that ended before it
    /// acknowledged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redelivered: Option<String>,
}

/// The push of a record; `redelivered` when the model may have had it before.
pub(crate) fn push(record: &Record, redelivered: bool) -> Value {
    let push = ChannelPush {
        content: record.content_text_sanitized.clone(),
        meta: ChannelMeta {
            chat_id: record.chat_id.clone(),
            message_id: record.id.clone(),
            user: record.from.clone(),
            ts: record.ts.clone(),
            edit_of: record.edit_of.clone(),
            edited_at: record.meta.get("edited_at").cloned(),
            deleted: record.deleted.then(|| "true".to_owned()),
            redelivered: (redelivered || record.restored).then(|| "true".to_owned()),
        },
    };
    serde_json::to_value(push).unwrap_or_default()
}
