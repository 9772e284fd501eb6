//! The seam between the engine and the tools that a model may use in a project.

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use tokio::sync::watch;

use entraclaw_models::{ToolRequest, ToolSchema};

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
}
