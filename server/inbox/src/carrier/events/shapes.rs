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
    /// The type's name.
    pub name: String,
    /// What the event reports.
    pub description: String,
    /// How clients can get it: some of `poll`, `push`, `webhook`.
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
    /// The type's arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String, Value>>,
    /// The cursor to go on from; null or absent: from now.
    #[serde(default)]
    pub cursor: Option<String>,
    /// The greatest age of a replayed event, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_age_ms: Option<u64>,
    /// The most events to return, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_events: Option<u64>,
}

/// Parameters of `events/stream`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventStream {
    /// The event type.
    pub name: String,
    /// The type's arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String, Value>>,
    /// The cursor to go on from; null or absent: from now.
    #[serde(default)]
    pub cursor: Option<String>,
    /// The greatest age of a replayed event, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_age_ms: Option<u64>,
}

/// The result of `events/poll`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventPolled {
    /// The events, oldest first.
    pub events: Vec<EventOccurrence>,
    /// The cursor to go on from.
    pub cursor: String,
    /// Whether events before these may be missing.
    pub truncated: bool,
    /// Whether there are more events; if so, poll again at once.
    pub has_more: bool,
    /// When to poll again, in milliseconds.
    pub next_poll_ms: u64,
}

/// One event; also the parameters of `notifications/events/event`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventOccurrence {
    /// The event's id, which stays the same when the event is sent again.
    pub event_id: String,
    /// The event type.
    pub name: String,
    /// When the message was written, RFC 3339.
    pub timestamp: String,
    /// The message.
    pub data: MessageView,
    /// The cursor after this event; on a stream only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// Parameters of `notifications/events/active`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventActive {
    /// The cursor from which the stream goes on.
    pub cursor: String,
    /// Whether events before that may be missing.
    pub truncated: bool,
}

/// Parameters of `notifications/events/heartbeat`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventHeartbeat {
    /// The stream's current cursor.
    pub cursor: String,
}

/// Parameters of `notifications/events/error` and `notifications/events/terminated`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventFailed {
    /// The error.
    pub error: EventError,
}

/// An error inside a notification.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventError {
    /// The code, as in an error answer.
    pub code: i32,
    /// The problem and its fix.
    pub message: String,
}
