//! Why a call failed: the document's name for it, and a sentence that says how to fix it.
//! It must never hold text of a session.

use entraclaw_mcp::Answer;

use crate::context::ContextError;
use crate::search::MemoryError;
use crate::stores::SessionError;

/// A failed call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    /// The name in the design document.
    pub(super) name: &'static str,
    /// What is wrong, where, and how to fix it.
    pub(super) says: String,
}

impl Failure {
    pub(super) fn new(name: &'static str, says: impl Into<String>) -> Self {
        Self { name, says: says.into() }
    }

    pub(super) fn params(says: impl Into<String>) -> Self {
        Self::new("INVALID_PARAMS", says)
    }

    pub(super) fn answer(&self) -> Answer {
        Answer::error(&self.text())
    }

    pub(super) fn text(&self) -> String {
        format!("{}: {}", self.name, self.says)
    }
}

impl From<ContextError> for Failure {
    fn from(error: ContextError) -> Self {
        Self::new(error.name(), error.to_string())
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        Self::new(error.name(), error.to_string())
    }
}

impl From<MemoryError> for Failure {
    fn from(error: MemoryError) -> Self {
        Self::new("READ_ERROR", error.to_string())
    }
}
