//! Why the engine did not do what it was told.

use std::time::Duration;

use thiserror::Error;

use crate::task::TaskId;

/// Why the engine did not do what it was told.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum EngineError {
    /// The client handed over too many tasks.
    #[error(
        "at most {per_minute} tasks a minute are taken from one client; try again in {} s, or raise mcp.external.rate_limit",
        .wait.as_secs() + 1
    )]
    RateLimited {
        /// The rate.
        per_minute: u32,
        /// How long to wait.
        wait: Duration,
    },
    /// There is no such task, or no such tool call that waits.
    #[error("{0}")]
    NotFound(String),
    /// The task has ended.
    #[error("task {task} is {state} already")]
    CannotCancel {
        /// The task.
        task: TaskId,
        /// How it has ended.
        state: &'static str,
    },
    /// The message can't be taken.
    #[error("{0}")]
    Refused(String),
    /// Too many tasks wait.
    #[error("{0}")]
    Busy(String),
    /// The engine has ended.
    #[error("the engine of this project has ended; start it again by `entraclaw delegate`")]
    Ended,
}

/// The error for a task that there is not.
pub(super) fn not_found(task: &TaskId) -> EngineError {
    EngineError::NotFound(format!(
        "no task {task} was handed over in this project; chat returns the id of a task"
    ))
}
