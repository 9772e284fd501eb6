//! What a model may do in a project: files within the project's folder, and commands in the sandbox.
//!
//! From the ground up: `outcome` is how a tool tells of its end, `whole` puts a file into its place, `root` holds the
//! project's folder, `files` reads and writes,
//! `edit` changes a place, `find` looks for names and texts, `in_files` joins these, `command` runs in the sandbox, `check` runs
//! the project's own checker, `schemas` is what a model is shown, `worktrees` gives each task of a host a place of its own.
//!
//! It must never follow a path out of the project, write under a name that another program acts on, or leave half a file.

mod check;
mod command;
mod edit;
mod files;
mod find;
mod in_files;
mod outcome;
mod root;
mod schemas;
mod whole;
mod worktrees;

use std::path::Path;

use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use entraclaw_models::{ToolRequest, ToolSchema};
use entraclaw_sandbox::{Approval, Sandbox, SandboxError};

use crate::task::Task;
use crate::tool::{Patience, ToolOutcome, Toolbox};
use outcome::failed;

pub use in_files::FileTools;
pub use schemas::all as tool_schemas;
pub use worktrees::{WorktreeParts, WorktreeTools};

/// The tools of one project, over the sandbox of one task or conversation.
///
/// Where the sandbox is not wholly enforced, the tools that run commands need the person's approval for each call, and
/// [`Toolbox::run`] takes it that its caller has asked.
#[derive(Debug)]
pub struct ProjectTools {
    files: FileTools,
    sandbox: Sandbox,
}

impl ProjectTools {
    /// The tools of the first folder that the sandbox may write.
    pub fn new(sandbox: Sandbox) -> Result<Self, SandboxError> {
        let folder = sandbox.policy().writes.first().cloned().unwrap_or_default();
        Self::standing_for(sandbox, &folder)
    }

    /// The same for a folder that stands for the project: a path within the project is meant in it.
    fn standing_for(sandbox: Sandbox, project: &Path) -> Result<Self, SandboxError> {
        let folder = sandbox.policy().writes.first().cloned().unwrap_or_default();
        let files = FileTools::standing_for(&folder, project);
        let files = files.map_err(|source| SandboxError::Io { path: folder, source })?;
        Ok(Self { files, sandbox })
    }

    /// Whether the person must be asked before each command.
    fn approval(&self) -> Approval {
        if self.sandbox.enforcement().is_whole() { Approval::None } else { Approval::ByPerson }
    }

    async fn dispatch(
        &self,
        request: &ToolRequest,
        stop: watch::Receiver<bool>,
    ) -> Result<ToolOutcome, String> {
        let root = self.files.root();
        match request.name.as_str() {
            "bash" => command::bash(root, &self.sandbox, self.approval(), &arguments(request)?, stop).await,
            "lsp_diagnostics" => {
                check::diagnostics(root, &self.sandbox, self.approval(), &arguments(request)?, stop).await
            }
            _ => {
                // A thread that may wait for the disk.
                let (files, request) = (self.files.clone(), request.clone());
                let worked = tokio::task::spawn_blocking(move || files.run(&request, &stop)).await;
                worked.map_err(|error| error.to_string())
            }
        }
    }
}

/// The arguments, or a sentence by which a model can mend them.
fn arguments<A: DeserializeOwned>(request: &ToolRequest) -> Result<A, String> {
    A::deserialize(&request.arguments)
        .map_err(|error| format!("the arguments of {} are wrong: {error}", request.name))
}

impl Toolbox for ProjectTools {
    fn tools(&self) -> Vec<ToolSchema> {
        schemas::all()
    }

    fn patience(&self, name: &str) -> Patience {
        if schemas::runs_a_command(name) { Patience::Stop } else { Patience::Wait }
    }

    fn writes(&self, name: &str) -> bool {
        !matches!(name, "read_file" | "glob" | "grep")
    }

    fn needs_approval(&self, request: &ToolRequest) -> Option<String> {
        let enforcement = self.sandbox.enforcement();
        (schemas::runs_a_command(&request.name) && !enforcement.is_whole()).then(|| {
            format!("this system can't keep a command in: {} missing", enforcement.missing.join(", "))
        })
    }

    fn cut_short(&self, _task: &Task, request: &ToolRequest) {
        self.files.cut_short(request);
    }

    fn run<'a>(
        &'a self,
        request: &'a ToolRequest,
        stop: watch::Receiver<bool>,
    ) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(async move { self.dispatch(request, stop).await.unwrap_or_else(|why| failed(&why)) })
    }
}
