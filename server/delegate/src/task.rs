//! A task: what is asked, by whom, how far it is, and how it ended.
//!
//! It is plain data and must never change by itself.

use std::fmt;

use entraclaw_inbox::journal::ConsumerName;
use entraclaw_models::ToolRequest;
use entraclaw_work::Claim;
use serde::{Deserialize, Serialize};

pub use crate::call::{CallResult, CallState, ToolCall};
pub use crate::hint::Hint;
use crate::source::Source;

/// The id of a task: `task_` and sixteen hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TaskId(pub String);

impl TaskId {
    /// The id of these random bits.
    pub fn of(bits: u64) -> Self {
        Self(format!("task_{bits:016x}"))
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// It waits for its turn.
    Queued,
    /// It is worked on.
    InProgress,
    /// It was paused for a person and goes on after them.
    Preempted,
    /// It has its answer.
    Completed,
    /// It was cancelled.
    Cancelled,
    /// It ended without an answer.
    Failed,
}

impl TaskState {
    /// All states.
    pub const ALL: [Self; 6] =
        [Self::Queued, Self::InProgress, Self::Preempted, Self::Completed, Self::Cancelled, Self::Failed];

    /// Its name on the wire and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::InProgress => "in_progress",
            Self::Preempted => "preempted",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        }
    }

    /// The state with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == name)
    }

    /// Whether it has ended.
    pub fn is_ended(self) -> bool {
        matches!(self, Self::Completed | Self::Cancelled | Self::Failed)
    }

    /// Whether a task may go from this state to that one.
    pub fn may_become(self, next: Self) -> bool {
        match self {
            Self::Queued => matches!(next, Self::InProgress | Self::Cancelled | Self::Failed),
            Self::InProgress => next != Self::InProgress,
            Self::Preempted => matches!(next, Self::InProgress | Self::Cancelled | Self::Failed),
            Self::Completed | Self::Cancelled | Self::Failed => false,
        }
    }
}

/// A file that the caller gives along.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextFile {
    /// Its path.
    pub path: String,
    /// Its content.
    pub content: String,
}

/// How a task went on after it was interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resumption {
    /// Where it was: between two steps, or within one, and the server proved that it had kept all of it.
    Exact,
    /// The model went on from the text that it had said.
    Continued,
    /// The step was asked again from its beginning.
    StartedAgain,
}

impl Resumption {
    const ALL: [Self; 3] = [Self::Exact, Self::Continued, Self::StartedAgain];

    /// Its name on the wire and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Continued => "continued",
            Self::StartedAgain => "started_again",
        }
    }

    /// The way with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|way| way.as_str() == name)
    }
}

/// Tokens of a task, as the servers counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tokens {
    /// Tokens of its questions.
    pub input: u64,
    /// Tokens of its answers.
    pub output: u64,
}

/// A task, as the store holds it.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// Its place in the order of all tasks, which grows.
    pub number: i64,
    /// Its id.
    pub id: TaskId,
    /// Who asks.
    pub source: Source,
    /// What is asked.
    pub message: String,
    /// The files that came along.
    pub context: Vec<ContextFile>,
    /// The kind of task.
    pub hint: Hint,
    /// The consumer as which the session that asks reads the inbox, where it says so.
    pub consumer: Option<ConsumerName>,
    /// Where it stands.
    pub state: TaskState,
    /// The model that works on it.
    pub model: Option<String>,
    /// The step that it is at; the first is 0.
    pub step: u32,
    /// The last message that the question of this step holds; what comes later belongs to a later step.
    pub heard: Option<i64>,
    /// What the model has said in this step, without thinking.
    pub partial: String,
    /// Whether this step was asked and its answer had not ended when it was interrupted.
    pub was_asking: bool,
    /// The name under which the server holds this step.
    pub held: Option<String>,
    /// How it went on after it was last interrupted.
    pub resumed: Option<Resumption>,
    /// The answer, or why there is none.
    pub result: Option<String>,
    /// Who has its result, by the states of a job's; nothing is owed of a person's task.
    pub claim: Claim,
    /// What the caller must know about the answer: what was left out, what was started again.
    pub notes: Vec<String>,
    /// Its tokens.
    pub tokens: Tokens,
    /// Tool calls that were not of the right form.
    pub malformed: u32,
    /// When it was asked, in milliseconds since 1970.
    pub created_ms: i64,
    /// When it was begun.
    pub started_ms: Option<i64>,
    /// When it ended.
    pub ended_ms: Option<i64>,
    /// How long it was worked on in earlier turns, in milliseconds, without pauses.
    pub worked_ms: u64,
}

/// A step of a task that has its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Its number in the task.
    pub step: u32,
    /// The last message that its question held.
    pub heard: i64,
    /// What the model said.
    pub text: String,
    /// The tools that it asked for.
    pub requests: Vec<ToolRequest>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back() {
        assert!(TaskState::ALL.iter().all(|one| TaskState::by_name(one.as_str()) == Some(*one)));
        assert!(Hint::ALL.iter().all(|one| Hint::by_name(one.as_str()) == Some(*one)));
        assert!(Resumption::ALL.iter().all(|one| Resumption::by_name(one.as_str()) == Some(*one)));
        assert!(CallState::ALL.iter().all(|one| CallState::by_name(one.as_str()) == Some(*one)));
        assert_eq!(TaskId::of(0xabc).to_string(), "task_0000000000000abc");
    }

    #[test]
    fn a_task_that_has_ended_stays_ended() {
        for state in TaskState::ALL {
            for next in TaskState::ALL {
                assert!(!(state.is_ended() && state.may_become(next)), "{state:?} to {next:?}");
            }
        }
        assert!(TaskState::Preempted.may_become(TaskState::InProgress));
        assert!(!TaskState::Queued.may_become(TaskState::Completed));
    }
}
