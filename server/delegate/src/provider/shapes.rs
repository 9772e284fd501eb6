//! The answers, in the shapes of the design document. What is beyond it, such as `resumed` and `notes`, comes behind it.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::fit::{add_text, short};
use crate::engine::{Capabilities, Entry, History, Snapshot, TaskView};
use crate::task::{TaskState, ToolCall};

/// Most tool calls that an answer tells of, the newest.
const CALLS_MAX: usize = 24;
/// Longest value that is shown of a tool call, in bytes.
const CALL_BYTES_MAX: usize = 100;
/// Longest message in the history, in bytes.
const MESSAGE_BYTES_MAX: usize = 1_500;
/// Longest partial answer, in bytes.
const PARTIAL_BYTES_MAX: usize = 4_000;
/// Longest history, in bytes.
const HISTORY_BYTES_MAX: usize = 7_400;
/// Longest sentence about a task, in bytes.
const SAYS_BYTES_MAX: usize = 500;
/// Most notes on an answer.
const NOTES_MAX: usize = 8;

/// What a caller may do whose task was paused.
const PREEMPTED_HINT: &str = "Human interaction in progress. Poll for completion or cancel.";

fn seconds(ms: u64) -> u64 {
    ms / 1_000
}

/// Where a task stands; a long response from `offset` on.
pub(super) fn task(view: &TaskView, offset: usize) -> Value {
    let task = &view.task;
    let mut answer = Map::new();
    let mut put = |name: &str, value: Value| {
        answer.insert(name.to_owned(), value);
    };
    put("task_id", json!(task.id));
    put("status", json!(task.state));
    let position = view.position.unwrap_or(0);
    match task.state {
        TaskState::Queued => put("queue_position", json!(position)),
        TaskState::InProgress => {
            put("progress", json!(short(&view.doing, SAYS_BYTES_MAX)));
            put("elapsed_seconds", json!(seconds(view.elapsed_ms)));
        }
        TaskState::Preempted => {
            put("partial_response", json!(short(&task.partial, PARTIAL_BYTES_MAX)));
            put("queue_position", json!(position));
            put("hint", json!(PREEMPTED_HINT));
            put("will_resume", json!(true));
        }
        TaskState::Completed | TaskState::Failed | TaskState::Cancelled => {
            put("tool_calls", calls(&view.calls));
            put("token_usage", json!(task.tokens));
            put("elapsed_seconds", json!(seconds(view.elapsed_ms)));
        }
    }
    if let Some(resumed) = task.resumed {
        put("resumed", json!(resumed));
    }
    if !task.notes.is_empty() {
        let notes: Vec<String> =
            task.notes.iter().take(NOTES_MAX).map(|note| short(note, SAYS_BYTES_MAX)).collect();
        put("notes", json!(notes));
    }
    match task.state {
        TaskState::Completed => {
            add_text(&mut answer, "response", task.result.as_deref().unwrap_or_default(), offset);
            answer = in_order(answer, &["task_id", "status", "response"]);
        }
        TaskState::Failed => {
            answer.insert("error".to_owned(), json!("execution_error"));
            let why = short(task.result.as_deref().unwrap_or_default(), SAYS_BYTES_MAX);
            answer.insert("message".to_owned(), json!(why));
            answer.insert("partial_response".to_owned(), json!(short(&task.partial, PARTIAL_BYTES_MAX)));
        }
        TaskState::Cancelled => {
            answer.insert("partial_response".to_owned(), json!(short(&task.partial, PARTIAL_BYTES_MAX)));
        }
        _ => {}
    }
    Value::Object(answer)
}

/// The ticket of a call that waited as long as its host does.
pub(super) fn ticket(view: &TaskView, is_woken: bool) -> Value {
    let mut answer = task(view, 0);
    if !view.task.state.is_ended() && view.task.state != TaskState::Preempted {
        let next = if is_woken {
            "Its answer will come to your inbox by itself, once, as a message of the channel work. Go on with something else."
        } else {
            "Call poll_task with this task_id."
        };
        answer["hint"] = json!(format!("It takes longer than this call may wait and goes on. {next}"));
    }
    answer
}

/// These members first.
fn in_order(mut answer: Map<String, Value>, first: &[&str]) -> Map<String, Value> {
    let mut sorted = Map::new();
    for name in first {
        if let Some(value) = answer.shift_remove(*name) {
            sorted.insert((*name).to_owned(), value);
        }
    }
    sorted.extend(answer);
    sorted
}

/// The tool calls that have their result, the newest of many.
pub(super) fn calls(all: &[ToolCall]) -> Value {
    let done: Vec<&ToolCall> = all.iter().filter(|call| call.result.is_some()).collect();
    let left_out = done.len().saturating_sub(CALLS_MAX);
    let mut shown: Vec<Value> = done.iter().skip(left_out).map(|call| one_call(call)).collect();
    if left_out > 0 {
        shown.insert(0, json!({"tool": "…", "status": format!("{left_out} older calls are left out")}));
    }
    json!(shown)
}

fn one_call(call: &ToolCall) -> Value {
    let mut shown = Map::new();
    shown.insert("tool".to_owned(), json!(short(&call.request.name, CALL_BYTES_MAX)));
    let Some(result) = &call.result else { return Value::Object(shown) };
    let short_value = |value: &Value| match value {
        Value::String(text) => json!(short(text, CALL_BYTES_MAX)),
        Value::Number(_) | Value::Bool(_) | Value::Null => value.clone(),
        _ => json!("…"),
    };
    // What it was called with, as far as it does not say so itself.
    for name in ["path", "command", "pattern"] {
        if let Some(value) = result.shown.get(name).or_else(|| call.request.arguments.get(name)) {
            shown.insert(name.to_owned(), short_value(value));
        }
    }
    shown.insert("status".to_owned(), json!(result.status));
    for (name, value) in &result.shown {
        if !shown.contains_key(name) {
            shown.insert(name.clone(), short_value(value));
        }
    }
    Value::Object(shown)
}

/// The history: as many of the last messages as a host shows.
pub(super) fn history(history: &History) -> Value {
    let mut messages: Vec<Value> = Vec::new();
    let mut bytes = 0;
    for entry in history.entries.iter().rev() {
        let message = one_message(entry);
        bytes += message.to_string().len() + 1;
        if bytes > HISTORY_BYTES_MAX {
            break;
        }
        messages.insert(0, message);
    }
    let mut answer = json!({"messages": messages, "count": messages.len(), "total": history.total});
    let left_out = history.entries.len() - messages.len();
    if left_out > 0 {
        answer["left_out"] = json!(format!(
            "{left_out} older messages do not fit into one answer; poll_task has the responses"
        ));
    }
    answer
}

fn one_message(entry: &Entry) -> Value {
    let message = &entry.message;
    let at = Timestamp::from_millisecond(message.at_ms).map(|at| at.to_string()).unwrap_or_default();
    let mut shown = json!({
        "source": message.speaker.as_str(),
        "role": message.speaker.role(),
        "content": short(&message.text, MESSAGE_BYTES_MAX),
        "timestamp": at,
        "task_id": message.task
    });
    if let Some(model) = &message.model {
        shown["model"] = json!(short(model, CALL_BYTES_MAX));
    }
    if !entry.calls.is_empty() {
        shown["tool_calls"] = calls(&entry.calls);
    }
    shown
}

/// What can be delegated. What the server does not say is null.
pub(super) fn capabilities(known: &Capabilities) -> Value {
    let models: Vec<Value> = known
        .model
        .iter()
        .map(|facts| {
            json!({
                "name": facts.model,
                "context_length": facts.context_tokens,
                "strengths": known.strengths,
                "tools": facts.tools,
                "tokens_per_second": known.tokens_per_second,
                "reported_issues": known.issues
            })
        })
        .collect();
    let mut answer = json!({
        "models": models,
        "tools": known.tools,
        "max_concurrent_tasks": 1,
        "rate_limit": {"requests_per_minute": known.rate_limit}
    });
    if let Some(trouble) = &known.trouble {
        answer["message"] = json!(short(trouble, SAYS_BYTES_MAX));
    }
    answer
}

/// Where the engine stands.
pub(super) fn status(snapshot: &Snapshot) -> Value {
    let active = snapshot.active.as_ref();
    let state = match (active, &snapshot.trouble) {
        (_, Some(_)) => "model_unreachable",
        (Some(_), None) => "busy",
        (None, None) => "idle",
    };
    let task = active.map(|active| {
        let task = &active.view.task;
        let mut shown = json!({
            "task_id": task.id,
            "elapsed_seconds": seconds(active.view.elapsed_ms),
            "source": task.source,
            "progress": short(&active.view.doing, SAYS_BYTES_MAX)
        });
        if let Some(resumed) = task.resumed {
            shown["resumed"] = json!(resumed);
        }
        shown
    });
    let mut answer = json!({
        "state": state,
        "active_task": task,
        "queue_depth": snapshot.queue.len() - usize::from(active.is_some()),
        "model_loaded": snapshot.model.as_ref().and_then(|facts| facts.is_loaded),
        // No server that we know tells this of its model.
        "gpu_utilization": null
    });
    if let Some(trouble) = &snapshot.trouble {
        answer["message"] = json!(short(trouble, SAYS_BYTES_MAX));
    }
    if !snapshot.approvals.is_empty() {
        answer["awaits_approval"] = json!(snapshot.approvals.len());
    }
    answer
}
