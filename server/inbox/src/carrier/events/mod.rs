//! MCP Events: the inbox as event types that a client polls or streams with a cursor of its own.
//!
//! The extension is a draft, so everything of it is here and in `mcp::events`, behind one switch. It must never retire
//! a message: whoever reads events is a reader beside the consumers.

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

/// The first message of a stream, and again after a gap.
pub const METHOD_ACTIVE: &str = "notifications/events/active";
/// One event on a stream.
pub const METHOD_EVENT: &str = "notifications/events/event";
/// A stream lives, and where it stands.
pub const METHOD_HEARTBEAT: &str = "notifications/events/heartbeat";
/// Something is wrong, and the stream goes on.
pub const METHOD_ERROR: &str = "notifications/events/error";
/// The stream is over.
pub const METHOD_TERMINATED: &str = "notifications/events/terminated";

/// No event type has this name.
pub(crate) const NOT_FOUND: ErrorCode = ErrorCode(-32011);
/// A named maximum is reached.
pub(crate) const RESOURCE_EXHAUSTED: ErrorCode = ErrorCode(-32013);
/// A feature of the draft that this server does not have.
pub(crate) const UNSUPPORTED: ErrorCode = ErrorCode(-32014);

/// Streams that may be open on one connection.
pub(crate) const STREAMS_MAX: usize = 64;
/// Between two heartbeats of a stream, in milliseconds; the draft allows 30 s at most.
pub(crate) const HEARTBEAT_MS: u64 = 20_000;
/// Reads that may fail one after another, a heartbeat apart, before a stream is over.
pub(crate) const FAILURES_MAX: u32 = 10;
/// When to poll again, in milliseconds: about as often as Teams is asked.
pub(crate) const NEXT_POLL_MS: u64 = 5_000;

/// Adds the extension to a server's capabilities, in the draft's own place and in that of its implementations.
pub(crate) fn declare(capabilities: &mut Value) {
    capabilities["events"] = json!({"listChanged": false});
    capabilities["extensions"][EXTENSION] = json!({});
}

/// The items of `events/list`.
pub(crate) fn list() -> Vec<Value> {
    EventType::ALL.map(|kind| serde_json::to_value(kind.view()).unwrap_or_default()).into()
}
