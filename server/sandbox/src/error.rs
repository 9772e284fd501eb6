//! What can go wrong before a command runs.

use std::path::PathBuf;

/// Why a command was not run.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The kernel can't enforce the whole policy.
    #[error(
        "this system can't enforce the sandbox: {} missing; ask the person before each command, or use a newer kernel",
        missing.join(", ")
    )]
    Unenforced {
        /// What can't be enforced, one thing an item.
        missing: Vec<String>,
    },
    /// A folder may not be given to a command.
    #[error("{}: {why}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why not, and what to do.
        why: String,
    },
    /// The hidden command could not be started, or said nothing.
    #[error("the sandbox could not be started: {0}")]
    NotStarted(String),
    /// A git command failed.
    #[error("git {command}: {said}")]
    Git {
        /// The command of git.
        command: String,
        /// What it said.
        said: String,
    },
    /// A file of the sandbox itself could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

impl SandboxError {
    pub(crate) fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }
}
