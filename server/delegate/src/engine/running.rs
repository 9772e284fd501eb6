//! A tool that runs, and why it was stopped.

use entraclaw_models::ToolRequest;
use futures_util::future::BoxFuture;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::task::TaskId;
use crate::tool::ToolOutcome;

/// A tool that runs.
pub(super) struct Running {
    pub(super) task: TaskId,
    pub(super) number: i64,
    pub(super) request: ToolRequest,
    pub(super) work: BoxFuture<'static, ToolOutcome>,
    pub(super) stop: watch::Sender<bool>,
    /// Why it was stopped.
    pub(super) stopped: Option<Stopped>,
    pub(super) due: Instant,
}

/// Why a tool was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stopped {
    /// A person waits, or the engine ends; it runs again.
    ForNow,
    /// Its task was cancelled.
    ForGood,
    /// It took too long.
    TimeIsUp,
}
