//! MCP Events: the inbox as event types that a client polls or streams with a cursor of its own.
//!
//! The extension is a draft, so all of it is in this module and in `mcp::events`, behind one switch. It must
//! never retire a message, because a client of events is no consumer.

mod cursor;
mod filter;
mod replay;
mod shapes;

use rmcp::model::ErrorCode;
use serde_json::{Value, json};

pub(crate) use cursor::Cursor;
pub(crate) use filter::{Asked, EventType};
pub(crate) use replay::{PAGE, POLL, Replay, replay};
pub use shapes::{
    EventActive, EventError, EventFailed, EventHeartbeat, EventList, EventOccurrence, EventPoll, EventPolled,
    EventStream, EventTypeView,
};

/// The extension's name in `capabilities.extensions`.
pub const EXTENSION: &str = "io.modelcontextprotocol/events";

/// The method of a stream's first message, which is sent again after a gap.
pub const METHOD_ACTIVE: &str = "notifications/events/active";
/// The method of one event on a stream.
pub const METHOD_EVENT: &str = "notifications/events/event";
/// The method of the message that a stream is open, with its place.
pub const METHOD_HEARTBEAT: &str = "notifications/events/heartbeat";
/// The method of an error after which the stream goes on.
pub const METHOD_ERROR: &str = "notifications/events/error";
/// The method of a stream's last message.
pub const METHOD_TERMINATED: &str = "notifications/events/terminated";

/// The error for an unknown event type.
pub(crate) const NOT_FOUND: ErrorCode = ErrorCode(-32011);
/// The error for a limit that is reached.
pub(crate) const RESOURCE_EXHAUSTED: ErrorCode = ErrorCode(-32013);
/// The error for a feature of the draft that this server does not have.
pub(crate) const UNSUPPORTED: ErrorCode = ErrorCode(-32014);

/// The most streams that may be open on one connection.
pub(crate) const STREAMS_MAX: usize = 64;
/// The time between two heartbeats of a stream, in milliseconds; the draft allows 30 s at most.
pub(crate) const HEARTBEAT_MS: u64 = 20_000;
/// The number of reads, a heartbeat apart, that may fail in a row before a stream ends.
pub(crate) const FAILURES_MAX: u32 = 10;
/// When to poll again, in milliseconds: about as often as Teams is polled.
pub(crate) const NEXT_POLL_MS: u64 = 5_000;

/// Adds the extension to a server's capabilities, both where the draft puts it and where its implementations
/// put it.
pub(crate) fn declare(capabilities: &mut Value) {
    capabilities["events"] = json!({"listChanged": false});
    capabilities["extensions"][EXTENSION] = json!({});
}

/// The items of `events/list`.
pub(crate) fn list() -> Vec<Value> {
    EventType::ALL.map(|kind| serde_json::to_value(kind.view()).unwrap_or_default()).into()
}
