//! The tasks extension in the connection: which callers may use it, which tools support it, and how a task looks on the
//! wire. Each task belongs to the provider that answers for its id.

use rmcp::model::ErrorCode;
use serde_json::{Value, json};

use crate::connection::Caller;
use crate::era::Era;
use crate::message::{Object, RpcError, text};

/// The extension's name in `capabilities.extensions` of both sides.
pub const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// The code for a request that needs a capability that it did not declare.
const MISSING_CAPABILITY: ErrorCode = ErrorCode(-32021);

/// Whether a method belongs to the extension.
pub(crate) fn is_method(era: Era, method: &str) -> bool {
    era == Era::Modern && matches!(method, "tasks/get" | "tasks/update" | "tasks/cancel")
}

/// The id of the task that a request of the extension names.
///
/// # Errors
/// The protocol's error for a missing capability or parameter.
pub fn named<'a>(caller: &Caller, params: &'a Object) -> Result<&'a str, RpcError> {
    needs_tasks(caller)?;
    text(params, "taskId")
}

/// The error for a task that no provider knows.
pub(crate) fn unknown() -> RpcError {
    RpcError::invalid_params(
        "params.taskId: no such task; it has expired or belongs to an earlier session, call the tool again",
    )
}

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
