//! The draft's own shapes. The schema file of the extension is generated from here.
//!
//! A message in an event must have the same shape as in every tool's answer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::tool::MessageView;

/// The result of `events/list`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventList {
    /// The event types.
    pub events: Vec<EventTypeView>,
    /// Where the next page begins; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A kind of event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventTypeView {
    /// Its name.
    pub name: String,
    /// What it tells.
    pub description: String,
    /// How it can be had: some of `poll`, `push`, `webhook`.
    pub delivery: Vec<String>,
    /// JSON Schema of the arguments.
    pub input_schema: Value,
    /// JSON Schema of `data`.
    pub payload_schema: Value,
}

/// Parameters of `events/poll`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventPoll {
    /// The event type.
    pub name: String,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String, Value>>,
    /// Where to go on; null or absent: from now.
    #[serde(default)]
    pub cursor: Option<String>,
    /// Nothing older than this is replayed, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_age_ms: Option<u64>,
    /// At most so many events, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_events: Option<u64>,
}

/// Parameters of `events/stream`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventStream {
    /// The event type.
    pub name: String,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String, Value>>,
    /// Where to go on; null or absent: from now.
    #[serde(default)]
    pub cursor: Option<String>,
    /// Nothing older than this is replayed, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_age_ms: Option<u64>,
}

/// The result of `events/poll`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventPolled {
    /// Oldest first.
    pub events: Vec<EventOccurrence>,
    /// Where to go on.
    pub cursor: String,
    /// Events before these may be missing.
    pub truncated: bool,
    /// There is more: poll again at once.
    pub has_more: bool,
    /// When to poll again, in milliseconds.
    pub next_poll_ms: u64,
}

/// One event; also the parameters of `notifications/events/event`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventOccurrence {
    /// The same for the same event, however often it comes.
    pub event_id: String,
    /// The event type.
    pub name: String,
    /// When the message was written, RFC 3339.
    pub timestamp: String,
    /// The message.
    pub data: MessageView,
    /// The place after this event; on a stream only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// Parameters of `notifications/events/active`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventActive {
    /// Where the stream goes on.
    pub cursor: String,
    /// Events before that may be missing.
    pub truncated: bool,
}

/// Parameters of `notifications/events/heartbeat`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventHeartbeat {
    /// Where the stream is.
    pub cursor: String,
}

/// Parameters of `notifications/events/error` and `notifications/events/terminated`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventFailed {
    /// What is wrong.
    pub error: EventError,
}

/// An error inside a notification.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventError {
    /// As in an error answer.
    pub code: i32,
    /// What is wrong and how to put it right.
    pub message: String,
}
