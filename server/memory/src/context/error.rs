//! Why an operation on a context file failed, by the names of the design document.
//!
//! It must never hold text of a context file.

use std::io;
use std::path::{Path, PathBuf};

/// A failure of an operation on a context file.
#[derive(Debug, thiserror::Error)]
pub enum ContextError {
    /// There is no context file.
    #[error("{} does not exist; create it with `init_context`", .0.display())]
    FileNotFound(PathBuf),
    /// There is a context file already.
    #[error("{} exists already; read it with `read_context`, or append to it with `append_context`", .0.display())]
    FileExists(PathBuf),
    /// The context file can't be read.
    #[error("{} can't be read: {why}", path.display())]
    Read {
        /// The context file.
        path: PathBuf,
        /// What the system says, and how to fix it.
        why: String,
    },
    /// The context file can't be written.
    #[error("{} can't be written: {why}", path.display())]
    Write {
        /// The context file.
        path: PathBuf,
        /// What the system says, and how to fix it.
        why: String,
    },
    /// An argument is wrong.
    #[error("{0}")]
    InvalidParams(String),
}

impl ContextError {
    /// The name of the error in the design document.
    pub fn name(&self) -> &'static str {
        match self {
            Self::FileNotFound(_) => "FILE_NOT_FOUND",
            Self::FileExists(_) => "FILE_EXISTS",
            Self::Read { .. } => "READ_ERROR",
            Self::Write { .. } => "WRITE_ERROR",
            Self::InvalidParams(_) => "INVALID_PARAMS",
        }
    }

    pub(super) fn read(path: &Path) -> impl Fn(io::Error) -> Self {
        move |error| Self::Read { path: path.to_owned(), why: error.to_string() }
    }

    pub(super) fn write(path: &Path) -> impl Fn(io::Error) -> Self {
        move |error| Self::Write { path: path.to_owned(), why: error.to_string() }
    }
}
