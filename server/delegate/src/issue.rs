//! What a caller found wrong with an answer.

use serde::{Deserialize, Serialize};

use crate::source::Source;
use crate::task::TaskId;

/// The kinds of issues, as the design document names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IssueKind {
    /// It is wrong.
    Incorrect,
    /// Something is missing.
    Incomplete,
    /// It names what does not exist.
    Hallucination,
    /// It answers something else.
    OffTopic,
    /// It took too long.
    Slow,
    /// Anything else.
    Other,
}

impl IssueKind {
    /// All kinds.
    pub const ALL: [Self; 6] =
        [Self::Incorrect, Self::Incomplete, Self::Hallucination, Self::OffTopic, Self::Slow, Self::Other];

    /// Its name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Incorrect => "incorrect",
            Self::Incomplete => "incomplete",
            Self::Hallucination => "hallucination",
            Self::OffTopic => "off_topic",
            Self::Slow => "slow",
            Self::Other => "other",
        }
    }

    /// The kind with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// A reported issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// Who reports it.
    pub source: Source,
    /// The task that it is about, if one is named.
    pub task: Option<TaskId>,
    /// Its kind.
    pub kind: IssueKind,
    /// What is wrong.
    pub description: String,
    /// What was expected instead.
    pub expected: Option<String>,
}
