//! The messages of the tiny server. It keeps every rule; other modules add the faults.

use serde_json::{Value, json};
use tokio::time::Duration;

/// Duration of a long call.
pub(crate) const LASTS: Duration = Duration::from_secs(12);
/// The member of a message that names its stream.
pub(crate) const META_SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// A result.
pub(crate) fn result(id: &Value, body: impl Into<Value>) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": body.into()})
}

/// An error.
pub(crate) fn error(id: &Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

/// The notification on a stream that the tools have changed.
pub(crate) fn changed(id: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {"_meta": {META_SUBSCRIPTION: id}}})
}
