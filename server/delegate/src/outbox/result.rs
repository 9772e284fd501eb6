//! From a task that has ended to a result for the inbox.
//!
//! A task has one id there, however often it is delivered.

use entraclaw_inbox::record::WORK_ID;
use entraclaw_work::{Ask, Delivery, Ended, Limits, Request, WorkResult};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::engine::TaskView;
use crate::task::{TaskId, TaskState};

/// The kind of the work, which stands for the sender of the message.
pub(super) const KIND: &str = "delegate";
/// Longest title, in characters.
const TITLE_CHARS_MAX: usize = 100;

/// The id of a task in the inbox.
pub(crate) fn work_id(task: &TaskId) -> String {
    format!("{WORK_ID}{}", task.0.replace('_', "-"))
}

fn time(ms: i64) -> String {
    Timestamp::from_millisecond(ms).map(|at| at.to_string()).unwrap_or_default()
}

/// The result of a task for this consumer.
pub(super) fn delivery(view: &TaskView, consumer: String, may_be_known: bool) -> Delivery {
    let task = &view.task;
    let id = work_id(&task.id);
    let line = task.message.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let ask = Ask {
        kind: KIND.to_owned(),
        what: json!({"task_id": task.id}),
        title: line.trim().chars().take(TITLE_CHARS_MAX).collect(),
        consumer,
        host: Some(task.source.as_str().to_owned()),
        limits: Limits::default(),
    };
    let result = task.result.clone();
    let (ended, reason, text) = match task.state {
        TaskState::Completed => (Ended::Done, None, result.unwrap_or_default()),
        TaskState::Cancelled => {
            (Ended::Cancelled, Some("the person ended it".to_owned()), task.partial.clone())
        }
        _ => (Ended::Failed, result, task.partial.clone()),
    };
    let mut facts = Map::new();
    facts.insert("task_id".to_owned(), json!(task.id));
    if let Some(model) = &task.model {
        facts.insert("model".to_owned(), json!(model));
    }
    let done = view.calls.iter().filter(|call| call.result.is_some()).count();
    facts.insert("tool_calls".to_owned(), json!(done));
    if let Some(resumed) = task.resumed {
        facts.insert("resumed".to_owned(), json!(resumed));
    }
    if !task.notes.is_empty() {
        facts.insert("notes".to_owned(), Value::from(task.notes.join("; ")));
    }
    Delivery {
        request: Request {
            v: 1,
            id: id.clone(),
            ask,
            session: String::new(),
            asked_at: time(task.created_ms),
        },
        result: WorkResult {
            v: 1,
            id,
            ended,
            reason,
            total_bytes: text.len() as u64,
            kept_bytes: 0,
            text,
            facts,
            ended_at: time(task.ended_ms.unwrap_or(task.created_ms)),
        },
        may_be_known,
    }
}
