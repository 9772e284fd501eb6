//! What the engine tells of itself: tasks, the conversation, and all of it at once for a user interface.
//!
//! It is plain data, and must never hold a state that is not written.

use std::collections::BTreeMap;

use entraclaw_models::{Facts, ToolRequest};
use serde_json::Value;

use crate::message::Message;
use crate::source::Source;
use crate::store::KindQuality;
use crate::task::{Task, TaskId, ToolCall};

/// A task as its caller sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskView {
    /// The task, without the files that came along.
    pub task: Task,
    /// Its tool calls.
    pub calls: Vec<ToolCall>,
    /// How many tasks go before it; `None` if it has ended.
    pub position: Option<usize>,
    /// What is done for it now.
    pub doing: String,
    /// How far it is: it grows with each step and never says 100 before the end, for the number of steps is not known.
    pub percent: u8,
    /// How long it was worked on, without pauses.
    pub elapsed_ms: u64,
}

/// A message of the conversation, with the tools that were used for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The message.
    pub message: Message,
    /// The tool calls of its task, on the message that ends it.
    pub calls: Vec<ToolCall>,
}

/// The conversation, or its last part.
#[derive(Debug, Clone, PartialEq)]
pub struct History {
    /// The messages, the oldest first.
    pub entries: Vec<Entry>,
    /// How many messages there are in all.
    pub total: u64,
}

/// A tool call that waits for a person.
#[derive(Debug, Clone, PartialEq)]
pub struct Approval {
    /// The number to decide by.
    pub number: i64,
    /// The task that asks.
    pub task: TaskId,
    /// Who asked for the task.
    pub source: Source,
    /// What is to run.
    pub request: ToolRequest,
    /// Why it must be approved.
    pub asks: String,
}

/// The task that is worked on.
#[derive(Debug, Clone, PartialEq)]
pub struct Active {
    /// The task, with its text so far in `task.partial`.
    pub view: TaskView,
    /// Tokens a second of the answer that is coming: as the server said it last, or the pieces that came.
    pub tokens_per_second: Option<f64>,
}

/// Everything that a user interface shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// The last part of the conversation.
    pub history: History,
    /// All tasks that have not ended, in the order in which they are worked on, the active one among them.
    pub queue: Vec<TaskView>,
    /// The task that is worked on.
    pub active: Option<Active>,
    /// The tool calls that wait for a person.
    pub approvals: Vec<Approval>,
    /// What the server says of its model, if it was reached.
    pub model: Option<Facts>,
    /// Why the model can't be asked now.
    pub trouble: Option<String>,
    /// How the models have done.
    pub quality: Vec<KindQuality>,
    /// Tasks a minute that a host may hand over.
    pub rate_limit: u32,
    /// The number of the last event that it holds: events are counted from 1 on since the engine began.
    pub told: u64,
}

/// What can be delegated.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Capabilities {
    /// What the server says of its model, if it was reached.
    pub model: Option<Facts>,
    /// Why it was not.
    pub trouble: Option<String>,
    /// The kinds of task that it has proven to do well, by the answers and the reported issues.
    pub strengths: Vec<String>,
    /// Reported issues of this model, by kind.
    pub issues: BTreeMap<String, u64>,
    /// Tokens a second, as last measured.
    pub tokens_per_second: Option<f64>,
    /// The names of the tools.
    pub tools: Vec<String>,
    /// Tasks a minute that a host may hand over.
    pub rate_limit: u32,
}

/// Fewest answers of a kind by which a model is judged.
const ANSWERS_MIN: u64 = 3;
/// Most of these that may have an issue, in percent.
const ISSUES_PERCENT_MAX: u64 = 20;

/// The kinds of task that this model has proven to do well.
pub(crate) fn strengths(quality: &[KindQuality], model: &str) -> Vec<String> {
    let is_strength = |one: &&KindQuality| {
        let tried = one.completed + one.failed;
        let bad = one.with_issues + one.failed;
        one.model == model && one.completed >= ANSWERS_MIN && bad * 100 <= tried * ISSUES_PERCENT_MAX
    };
    quality.iter().filter(is_strength).map(|one| one.hint.as_str().to_owned()).collect()
}

/// How far a task is after so many steps, in percent: it grows, and the number of steps is not known before the end.
pub(super) fn percent(steps: u32) -> u8 {
    u8::try_from(u64::from(steps) * 100 / (u64::from(steps) + 2)).unwrap_or(99).min(99)
}

/// Longest part of an argument that is shown.
const SHOWN_CHARS_MAX: usize = 80;

/// What a tool call does, in a few words: its name, and the path, command or pattern.
pub(crate) fn says(request: &ToolRequest) -> String {
    let shown = ["path", "command", "pattern"].iter().find_map(|name| request.arguments.get(name));
    let shown = shown.and_then(Value::as_str).unwrap_or_default();
    let line: String =
        shown.chars().take(SHOWN_CHARS_MAX).map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!("Executing tool: {} {line}", request.name).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Hint;

    #[test]
    fn a_strength_needs_answers_and_few_issues() {
        let row = |completed, failed, with_issues| KindQuality {
            model: "m".to_owned(),
            hint: Hint::Testing,
            completed,
            failed,
            cancelled: 0,
            with_issues,
            issues: BTreeMap::new(),
        };
        assert_eq!(strengths(&[row(3, 0, 0)], "m"), ["testing"]);
        assert!(strengths(&[row(3, 0, 0)], "other").is_empty());
        assert!(strengths(&[row(2, 0, 0)], "m").is_empty(), "too few to tell");
        assert!(strengths(&[row(4, 0, 1)], "m").is_empty());
        assert!(strengths(&[row(3, 1, 0)], "m").is_empty());
        assert_eq!(strengths(&[row(10, 0, 2)], "m"), ["testing"]);
    }
}
