//! The tasks extension, as far as the connection knows it: who may ask, and which tools say so.

use rmcp::model::ErrorCode;
use serde_json::{Value, json};

use crate::connection::Caller;
use crate::message::RpcError;

/// The extension's name in `capabilities.extensions` of both sides.
pub const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// A request needs a capability that it did not declare.
const MISSING_CAPABILITY: ErrorCode = ErrorCode(-32021);

/// Refuses a request that needs the extension and did not declare it.
///
/// # Errors
/// The protocol's error for a missing capability.
pub fn needs_tasks(caller: &Caller) -> Result<(), RpcError> {
    if caller.declares_tasks {
        return Ok(());
    }
    Err(RpcError {
        code: MISSING_CAPABILITY,
        message: format!("this needs the extension {EXTENSION} in the request's client capabilities"),
        data: Some(json!({"requiredCapabilities": {"extensions": {EXTENSION: {}}}})),
    })
}

/// Says of a tool that it may go on as a task.
pub(crate) fn mark(tool: &mut Value) {
    tool["execution"] = json!({"taskSupport": "optional"});
}
