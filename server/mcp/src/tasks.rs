//! Tasks in the connection, in both forms: the extension of the modern era, and that of a session of 2025-11-25. It says
//! which callers may use them and which tools support them. Each task belongs to the provider that answers for its id.

use rmcp::model::ErrorCode;
use serde_json::{Value, json};

use crate::connection::{Caller, Opened};
use crate::era::Era;
use crate::message::{Object, RpcError, text};
pub use crate::task_now::TaskNow;

/// The extension's name in `capabilities.extensions` of both sides.
pub const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// The version of a session that has tasks.
const SESSION_VERSION: &str = "2025-11-25";

/// The key of `_meta` that names the task of a result in a session.
pub const META_RELATED: &str = "io.modelcontextprotocol/related-task";

/// The code for a request that needs a capability that it did not declare.
const MISSING_CAPABILITY: ErrorCode = ErrorCode(-32021);

/// Whether a method is one of tasks.
pub(crate) fn is_method(era: Era, method: &str) -> bool {
    match era {
        Era::Modern => matches!(method, "tasks/get" | "tasks/update" | "tasks/cancel"),
        Era::Legacy => matches!(method, "tasks/get" | "tasks/result" | "tasks/list" | "tasks/cancel"),
    }
}

/// Whether a session has tasks.
pub(crate) fn has_tasks(opened: Option<&Opened>) -> bool {
    opened.is_some_and(|opened| opened.version == SESSION_VERSION)
}

/// The capability of a server whose tools may go on as tasks of a session.
pub(crate) fn capability() -> Value {
    json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}})
}

/// The id of the task that a request names.
///
/// # Errors
/// The protocol's error for a missing capability or parameter.
pub fn named<'a>(caller: &Caller, params: &'a Object) -> Result<&'a str, RpcError> {
    if caller.route.era == Era::Modern {
        needs_tasks(caller)?;
    }
    text(params, "taskId")
}

/// The error for a task that no provider knows.
pub fn unknown() -> RpcError {
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
