//! The tasks extension in the connection: which callers may use it, and which tools support it.

use rmcp::model::ErrorCode;
use serde_json::{Value, json};

use crate::connection::Caller;
use crate::message::RpcError;

/// The extension's name in `capabilities.extensions` of both sides.
pub const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// The code for a request that needs a capability that it did not declare.
const MISSING_CAPABILITY: ErrorCode = ErrorCode(-32021);

/// Refuses a request that needs the extension but did not declare it.
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

/// Marks a tool whose calls may go on as a task.
pub(crate) fn mark(tool: &mut Value) {
    tool["execution"] = json!({"taskSupport": "optional"});
}
