//! The results of the tools, as types. The JSON Schemas of these shapes are generated from here.
//!
//! A message must have the same shape in every answer, and its text must be the journal's, character for
//! character.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Channel, Record};

/// A message in a tool's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MessageView {
    /// The source's id; used to acknowledge the message, to continue after it, or to answer it.
    pub id: String,
    /// The channel that the message came from.
    pub channel: Channel,
    /// The conversation to answer in.
    pub chat_id: String,
    /// The display name, never proof of identity.
    pub from: String,
    /// When the message was written, RFC 3339.
    pub ts: String,
    /// When the message was received, RFC 3339.
    pub received_at: String,
    /// The text. `&`, `<` and `>` that the person typed are written as `&amp;`, `&lt;` and `&gt;`.
    pub content_text_sanitized: String,
    /// Further facts about the message.
    pub meta: BTreeMap<String, String>,
    /// The message was handed out before and was not acknowledged.
    #[serde(default, skip_serializing_if = "is_false")]
    pub redelivered: bool,
    /// The message was also sent unasked, as a push or by the host's own wake-up; the model may not have
    /// received it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub pushed: bool,
    /// The id of the message that this one is a later version of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit_of: Option<String>,
    /// Whether the person took the message back.
    #[serde(default, skip_serializing_if = "is_false")]
    pub deleted: bool,
    /// Where in the whole text this part begins, in bytes; absent for the beginning.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub part_from: usize,
    /// Absent at the end of the text; otherwise `inbox_pull` with this as `since_id` answers the next part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest_since_id: Option<String>,
    /// The record's place in the journal, for `rest_since_id`: an id is also that of the message's edits.
    #[serde(skip)]
    pub seq: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(value: &usize) -> bool {
    *value == 0
}

impl MessageView {
    /// Makes the view of a record.
    pub fn of(record: &Record, redelivered: bool, pushed: bool) -> Self {
        Self {
            id: record.id.clone(),
            channel: record.channel,
            chat_id: record.chat_id.clone(),
            from: record.from.clone(),
            ts: record.ts.clone(),
            received_at: record.received_at.clone(),
            content_text_sanitized: record.content_text_sanitized.clone(),
            meta: record.meta.clone(),
            redelivered,
            pushed,
            edit_of: record.edit_of.clone(),
            deleted: record.deleted,
            part_from: 0,
            rest_since_id: None,
            seq: record.seq,
        }
    }
}

/// The answer of `wait_for_inbound_message`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WaitResult {
    /// The messages, oldest first; empty when the time was up.
    pub messages: Vec<MessageView>,
    /// Messages that this answer had no room for.
    pub unread_remaining: u64,
    /// The next step for the model.
    pub next: String,
    /// A problem of the inbox; absent when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// The answer of `inbox_pull`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PullResult {
    /// Messages that this answer did not include.
    pub unread_remaining: u64,
    /// The messages, oldest first.
    pub messages: Vec<MessageView>,
    /// A problem of the inbox; absent when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// The answer of `inbound_queue_stats`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatsResult {
    /// Messages that this consumer has not acknowledged.
    pub depth: u64,
    /// Messages that were lost for good.
    pub dropped_total: u64,
    /// Messages that left the memory window and are served from disk.
    pub spilled_total: u64,
    /// When the oldest unread message was written, RFC 3339; null when there is none.
    pub oldest_ts: Option<String>,
    /// A problem of the inbox; absent when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// The answer of `send_teams_message` for a message that was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SendResult {
    /// Always true; a message that was not sent is an error.
    pub sent: bool,
    /// The chat that the message was sent to.
    pub chat_id: String,
    /// The id that Teams gave the message.
    pub message_id: String,
    /// When Teams took the message, RFC 3339.
    pub ts: String,
}

/// The resource's text: the same shape, but with the newest unread messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InboxResource {
    /// Messages that the reader has not acknowledged.
    pub unread: u64,
    /// The newest unread messages, oldest first.
    pub messages: Vec<MessageView>,
}
