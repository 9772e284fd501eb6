//! Why a call failed: the name that a program reads, and a sentence that says how to fix it.

use entraclaw_mcp::Answer;
use serde_json::json;

use crate::engine::EngineError;

/// There is no engine.
pub(super) const NO_SESSION: &str = "no_session";

/// A failed call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    name: &'static str,
    says: String,
}

impl Failure {
    pub(super) fn new(name: &'static str, says: impl Into<String>) -> Self {
        Self { name, says: says.into() }
    }

    /// An argument is wrong.
    pub(super) fn arguments(says: impl Into<String>) -> Self {
        Self::new("invalid_args", says)
    }

    /// The JSON that the caller reads.
    pub(super) fn text(&self) -> String {
        json!({"error": self.name, "message": self.says}).to_string()
    }

    pub(super) fn answer(&self) -> Answer {
        Answer::error(&self.text())
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        let name = match error {
            EngineError::RateLimited { .. } => "rate_limited",
            EngineError::NotFound(_) => "not_found",
            EngineError::CannotCancel { .. } => "cannot_cancel",
            EngineError::Ended => NO_SESSION,
            EngineError::Refused(_) => "invalid_args",
            EngineError::Busy(_) => "execution_error",
        };
        Self::new(name, error.to_string())
    }
}
