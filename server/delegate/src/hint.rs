//! The kind of a task, as its caller may hint.

use serde::{Deserialize, Serialize};

/// What a task asks for, as the caller may hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hint {
    /// New code.
    CodeGeneration,
    /// An opinion on code.
    CodeReview,
    /// Another form of the same code.
    Refactoring,
    /// Tests.
    Testing,
    /// Texts about code.
    Documentation,
    /// Anything.
    #[default]
    General,
}

impl Hint {
    /// All hints, as the design document names them.
    pub const ALL: [Self; 6] = [
        Self::CodeGeneration,
        Self::CodeReview,
        Self::Refactoring,
        Self::Testing,
        Self::Documentation,
        Self::General,
    ];

    /// Its name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CodeGeneration => "code_generation",
            Self::CodeReview => "code_review",
            Self::Refactoring => "refactoring",
            Self::Testing => "testing",
            Self::Documentation => "documentation",
            Self::General => "general",
        }
    }

    /// The hint with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|hint| hint.as_str() == name)
    }
}
