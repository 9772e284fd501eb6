//! What the tiny server writes, as messages. It keeps every rule by itself; faults are made elsewhere.

use serde_json::{Value, json};
use tokio::time::Duration;

/// How long a call lasts that lasts.
pub(crate) const LASTS: Duration = Duration::from_secs(12);
/// Where a message says to which stream it belongs.
pub(crate) const META_SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// An answer.
pub(crate) fn result(id: &Value, body: impl Into<Value>) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": body.into()})
}

/// A refusal.
pub(crate) fn error(id: &Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

/// That the tools of a stream have changed.
pub(crate) fn changed(id: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {"_meta": {META_SUBSCRIPTION: id}}})
}
