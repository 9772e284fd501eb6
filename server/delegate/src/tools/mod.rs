//! What a model may do in a project: files within the project's folder, and commands in the sandbox.
//!
//! From the ground up: `outcome` is how a tool tells of its end, `root` holds the project's folder, `files` reads and writes,
//! `edit` changes a place, `find` looks for names and texts, `command` runs in the sandbox, `check` runs the project's own
//! checker, `schemas` is what a model is shown, `worktrees` gives each task of a host a place of its own.
//!
//! It must never follow a path out of the project, write under a name that another program acts on, or leave half a file.

mod check;
mod command;
mod edit;
mod files;
mod find;
mod outcome;
mod root;
mod schemas;
mod worktrees;

use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use entraclaw_models::{ToolRequest, ToolSchema};
use entraclaw_sandbox::{Approval, Sandbox, SandboxError};

use crate::tool::{Patience, ToolOutcome, Toolbox};
use outcome::failed;
use root::Root;
pub use worktrees::{WorktreeParts, WorktreeTools};

/// The tools of one project, over the sandbox of one task or conversation.
///
/// Where the sandbox is not wholly enforced, the tools that run commands need the person's approval for each call, and
/// [`Toolbox::run`] takes it that its caller has asked.
#[derive(Debug)]
pub struct ProjectTools {
    root: Arc<Root>,
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
        let root = Root::new(&folder, project).map_err(|source| SandboxError::Io { path: folder, source })?;
        Ok(Self { root: Arc::new(root), sandbox })
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
        match request.name.as_str() {
            "read_file" => self.blocking(request, &stop, |root, asked, _| files::read(root, &asked)).await,
            "write_file" => self.blocking(request, &stop, |root, asked, _| files::write(root, &asked)).await,
            "edit_file" => self.blocking(request, &stop, |root, asked, _| edit::edit(root, &asked)).await,
            "glob" => self.blocking(request, &stop, |root, asked, stop| find::glob(root, &asked, stop)).await,
            "grep" => self.blocking(request, &stop, |root, asked, stop| find::grep(root, &asked, stop)).await,
            "bash" => {
                command::bash(&self.root, &self.sandbox, self.approval(), &arguments(request)?, stop).await
            }
            "lsp_diagnostics" => {
                check::diagnostics(&self.root, &self.sandbox, self.approval(), &arguments(request)?, stop)
                    .await
            }
            name => Err(format!("there is no tool {name:?}; use one of {}", schemas::names())),
        }
    }

    /// Runs what reads and writes files on a thread that may wait for the disk.
    async fn blocking<A: DeserializeOwned + Send + 'static>(
        &self,
        request: &ToolRequest,
        stop: &watch::Receiver<bool>,
        work: fn(&Root, A, &watch::Receiver<bool>) -> Result<ToolOutcome, String>,
    ) -> Result<ToolOutcome, String> {
        let (root, asked, stop) = (Arc::clone(&self.root), arguments(request)?, stop.clone());
        let worked = tokio::task::spawn_blocking(move || work(&root, asked, &stop)).await;
        worked.unwrap_or_else(|error| Err(error.to_string()))
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

    fn run<'a>(
        &'a self,
        request: &'a ToolRequest,
        stop: watch::Receiver<bool>,
    ) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(async move { self.dispatch(request, stop).await.unwrap_or_else(|why| failed(&why)) })
    }
}
