//! The seam between the engine and the tools that a model may use in a project.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use tokio::sync::watch;

use entraclaw_models::{ToolRequest, ToolSchema};

use crate::task::{Task, TaskId};

/// What becomes of a running tool when a person's message comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// The person waits until it has ended: it is short, or it must not be cut in half.
    Wait,
    /// It is stopped whole, with all its processes, and run again later.
    Stop,
}

/// The end of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutcome {
    /// What the model is shown, within the limit of output.
    pub text: String,
    /// Whether it did what was asked.
    pub succeeded: bool,
    /// What the caller is shown beside `tool` and `status`: `path`, `command`, `lines`, `exit_code`.
    pub shown: Map<String, Value>,
    /// Whether it was stopped before its end, and must be run again.
    pub was_stopped: bool,
}

/// The tools of one project.
pub trait Toolbox: Send + Sync {
    /// The tools, as a model is shown them.
    fn tools(&self) -> Vec<ToolSchema>;

    /// What becomes of this tool when a person's message comes.
    fn patience(&self, name: &str) -> Patience;

    /// Whether a run of this tool may leave something behind. One that does is not run again when it is not known whether it
    /// has ended.
    fn writes(&self, _name: &str) -> bool {
        true
    }

    /// Why a person must approve this request before it runs; `None` if it may run.
    fn needs_approval(&self, _request: &ToolRequest) -> Option<String> {
        None
    }

    /// Runs one tool. When `stop` becomes true it ends at once, with everything that it started.
    fn run<'a>(&'a self, request: &'a ToolRequest, stop: watch::Receiver<bool>)
    -> BoxFuture<'a, ToolOutcome>;

    /// Runs one tool for this task. Tools whose tasks all work in one place need not know it.
    fn run_for<'a>(
        &'a self,
        _task: &'a Task,
        request: &'a ToolRequest,
        stop: watch::Receiver<bool>,
    ) -> BoxFuture<'a, ToolOutcome> {
        self.run(request, stop)
    }

    /// Learns that this tool ran for this task when an earlier engine died, and takes away what is only the tool's own.
    fn cut_short(&self, _task: &Task, _request: &ToolRequest) {}

    /// Whether [`Toolbox::report`] is asked before the answer of this task is told.
    fn reports(&self, _task: &Task) -> bool {
        false
    }

    /// Keeps what a task has done, and says where, as a part of its answer. It may be asked again.
    fn report<'a>(&'a self, _task: &'a TaskId) -> BoxFuture<'a, Option<String>> {
        std::future::ready(None).boxed()
    }

    /// Learns that a task has ended, whichever way.
    fn ended(&self, _task: &TaskId) {}

    /// Learns which tasks an earlier engine has left open; what it had for others is not needed any more.
    fn begins(&self, _open: &[TaskId]) {}
}
