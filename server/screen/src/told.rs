//! Makes what the screen is told from what the engine tells, and cleans every text on the way, once.
//!
//! A host's name, a model's answer, a path and an error are all a stranger's. It must never pass one on as it came.

use entraclaw_delegate as engine;
use serde_json::Value;

use crate::glyph::{line, text};
use crate::news::{Approval, Everything, Model, News, Quality, Said, Task, Tool, Who};

/// Longest name of a host, model or kind, in characters.
const NAME_CHARS_MAX: usize = 40;
/// Longest line of a tool call.
const TOOL_CHARS_MAX: usize = 100;
/// Longest line of what is done or asked.
const LINE_CHARS_MAX: usize = 200;
/// Longest error or reason.
const REASON_CHARS_MAX: usize = 600;
/// Most of one argument of a call that waits for the person.
const ARGUMENT_CHARS_MAX: usize = 8_000;

/// Arguments that matter most, in their order.
const FIRST_ARGUMENTS: [&str; 3] = ["command", "path", "pattern"];

/// Everything, from a snapshot.
pub fn everything(snapshot: &engine::Snapshot) -> News {
    News::Everything(Box::new(Everything {
        said: snapshot.history.entries.iter().map(said).collect(),
        total: snapshot.history.total,
        tasks: snapshot.queue.iter().map(task).collect(),
        approvals: snapshot.approvals.iter().map(approval).collect(),
        model: snapshot.model.as_ref().map(|facts| model(&facts.model, facts.context_tokens)),
        trouble: snapshot.trouble.as_deref().map(reason),
        tokens_per_second: snapshot.active.as_ref().and_then(|active| active.tokens_per_second),
        rate_limit: snapshot.rate_limit,
    }))
}

/// News, from an event.
pub fn event(event: &engine::Event) -> News {
    match event {
        engine::Event::Queued(view) => News::Queued(task(view)),
        engine::Event::Started(view) => News::Started(task(view)),
        engine::Event::Preempted(view) => News::Paused(task(view)),
        engine::Event::Resumed(view) => News::Resumed(task(view)),
        engine::Event::Ended(view) => News::Ended(task(view)),
        engine::Event::Said { task, text: piece } => News::Piece { task: id(task), text: text(piece) },
        engine::Event::Thinks { task } => News::Thinks { task: id(task) },
        engine::Event::Progress { task, says, .. } => {
            News::Doing { task: id(task), says: line(says, LINE_CHARS_MAX) }
        }
        engine::Event::StartsAgain { task } => News::StartsAgain { task: id(task) },
        engine::Event::ApprovalAsked(asked) => News::Asks(approval(asked)),
        engine::Event::ApprovalDecided { number, may_run } => {
            News::Decided { number: *number, may_run: *may_run }
        }
        engine::Event::ModelAway { why, .. } => News::Away { why: reason(why) },
        engine::Event::ModelFound { facts } => News::Found(model(&facts.model, facts.context_tokens)),
        engine::Event::SessionBegan => News::SessionBegan,
        engine::Event::Ends => News::EngineEnded,
    }
}

/// That the model was looked at and not found. One that is found the engine tells as it happens.
pub fn looked(known: &engine::Capabilities) -> Option<News> {
    let why = known.trouble.as_deref().filter(|_| known.model.is_none())?;
    Some(News::NotFound { why: reason(why) })
}

fn model(name: &str, context_tokens: Option<u64>) -> Model {
    Model { name: line(name, NAME_CHARS_MAX), context_tokens }
}

/// The conversation, or a part of it.
pub fn history(history: &engine::History) -> News {
    News::History { said: history.entries.iter().map(said).collect(), total: history.total }
}

/// How the models have done.
pub fn qualities(rows: &[engine::store::KindQuality]) -> News {
    let quality = |row: &engine::store::KindQuality| Quality {
        model: line(&row.model, NAME_CHARS_MAX),
        kind: row.hint.as_str().to_owned(),
        completed: row.completed,
        failed: row.failed,
        with_issues: row.with_issues,
        issues: row.issues.iter().map(|(kind, count)| (line(kind, NAME_CHARS_MAX), *count)).collect(),
    };
    News::Qualities(rows.iter().map(quality).collect())
}

/// Why the engine did not do what it was told.
pub fn refused(why: &engine::EngineError) -> News {
    News::Refused(reason(&why.to_string()))
}

/// A task.
pub fn task(view: &engine::TaskView) -> Task {
    let task = &view.task;
    Task {
        id: id(&task.id),
        number: task.number,
        who: who(&task.source),
        asks: text(&task.message),
        state: task.state,
        doing: line(&view.doing, LINE_CHARS_MAX),
        model: task.model.as_deref().map(|model| line(model, NAME_CHARS_MAX)),
        partial: text(&task.partial),
        tools: view.calls.iter().map(tool).collect(),
        resumed: task.resumed,
        result: task.result.as_deref().map(text),
        notes: task.notes.iter().map(|note| reason(note)).collect(),
        elapsed_ms: view.elapsed_ms,
    }
}

fn id(task: &engine::TaskId) -> String {
    line(&task.0, NAME_CHARS_MAX)
}

fn reason(why: &str) -> String {
    line(why, REASON_CHARS_MAX)
}

fn who(source: &engine::Source) -> Who {
    match source {
        engine::Source::You => Who::You,
        // A name can't hold what ends the label.
        engine::Source::Host(name) => Who::Host(line(name, NAME_CHARS_MAX).replace(['[', ']'], "-")),
    }
}

fn said(entry: &engine::Entry) -> Said {
    let message = &entry.message;
    Said {
        who: match &message.speaker {
            engine::Speaker::Asker(source) => who(source),
            engine::Speaker::Model => {
                Who::Model(message.model.as_deref().map(|model| line(model, NAME_CHARS_MAX)))
            }
        },
        text: text(&message.text),
        task: id(&message.task),
        tools: entry.calls.iter().map(tool).collect(),
    }
}

/// A tool call in a line: `write_file src/board.py · 145 lines`.
fn tool(call: &engine::ToolCall) -> Tool {
    let arguments = &call.request.arguments;
    let first = FIRST_ARGUMENTS.iter().find_map(|name| arguments.get(name)).and_then(Value::as_str);
    let mut says = line(&call.request.name, NAME_CHARS_MAX);
    if let Some(first) = first {
        says.push(' ');
        says.push_str(&line(first, TOOL_CHARS_MAX));
    }
    let is_done = call.state == engine::CallState::Done;
    let outcome = match (&call.result, call.state) {
        (Some(result), _) => outcome(result),
        (None, engine::CallState::AwaitsApproval) => Some("waits for you".to_owned()),
        (None, _) => Some("…".to_owned()),
    };
    if let Some(outcome) = outcome {
        says.push_str(" · ");
        says.push_str(&outcome);
    }
    Tool { says, is_done }
}

fn outcome(result: &engine::CallResult) -> Option<String> {
    let number = |name| result.shown.get(name).and_then(Value::as_i64);
    match (result.status.as_str(), number("exit_code"), number("lines")) {
        (_, Some(code), _) if code != 0 => Some(format!("exit {code}")),
        ("success", _, Some(1)) => Some("1 line".to_owned()),
        ("success", _, Some(lines)) => Some(format!("{lines} lines")),
        ("success", ..) => None,
        (status, ..) => Some(line(status, NAME_CHARS_MAX)),
    }
}

fn approval(asked: &engine::Approval) -> Approval {
    let mut runs = line(&asked.request.name, NAME_CHARS_MAX);
    if let Value::Object(arguments) = &asked.request.arguments {
        let place = |name: &str| FIRST_ARGUMENTS.iter().position(|first| *first == name);
        let mut arguments: Vec<_> = arguments.iter().collect();
        arguments.sort_by_key(|(name, _)| place(name).unwrap_or(FIRST_ARGUMENTS.len()));
        for (at, (name, value)) in arguments.into_iter().enumerate() {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let value = bounded(&text(&value));
            let is_first = at == 0 && place(name).is_some();
            let label = if is_first { String::new() } else { format!("{}: ", line(name, NAME_CHARS_MAX)) };
            runs.push_str(if is_first { " " } else { "\n" });
            runs.push_str(&label);
            runs.push_str(&value);
        }
    } else {
        runs.push(' ');
        runs.push_str(&bounded(&text(&asked.request.arguments.to_string())));
    }
    Approval {
        number: asked.number,
        who: who(&asked.source),
        task: id(&asked.task),
        runs,
        why: reason(&asked.asks),
    }
}

fn bounded(value: &str) -> String {
    match value.char_indices().nth(ARGUMENT_CHARS_MAX) {
        Some((at, _)) => {
            format!(
                "{}… and {} more characters that do not fit here",
                &value[..at],
                value[at..].chars().count()
            )
        }
        None => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use entraclaw_models::ToolRequest;
    use serde_json::json;

    use super::*;

    fn call(status: &str, shown: &Value) -> engine::ToolCall {
        engine::ToolCall {
            number: 1,
            step: 0,
            request: ToolRequest {
                id: "1".to_owned(),
                name: "write_file".to_owned(),
                arguments: json!({"content": "x", "path": "src/board.py\u{1b}[2J"}),
            },
            state: engine::CallState::Done,
            asks: None,
            result: Some(engine::CallResult {
                text: String::new(),
                status: status.to_owned(),
                shown: shown.as_object().cloned().unwrap_or_default(),
            }),
            runs: 1,
            started_ms: None,
            ended_ms: None,
        }
    }

    #[test]
    fn a_tool_call_is_a_line() {
        assert_eq!(
            tool(&call("success", &json!({"lines": 145}))).says,
            "write_file src/board.py · 145 lines"
        );
        assert_eq!(tool(&call("error", &json!({"exit_code": 2}))).says, "write_file src/board.py · exit 2");
        assert_eq!(tool(&call("refused", &json!({}))).says, "write_file src/board.py · refused");
    }

    #[test]
    fn an_approval_shows_all_arguments_and_the_command_first() {
        let asked = engine::Approval {
            number: 3,
            task: engine::TaskId("task_1".to_owned()),
            source: engine::Source::host("claude-code"),
            request: ToolRequest {
                id: "1".to_owned(),
                name: "bash".to_owned(),
                arguments: json!({"timeout_ms": 5, "command": "ls\u{1b}[8m; rm -r x\u{1b}[0m"}),
            },
            asks: "there is no\nsandbox".to_owned(),
        };
        let shown = approval(&asked);
        assert_eq!(shown.runs, "bash ls; rm -r x\ntimeout_ms: 5");
        assert_eq!(shown.why, "there is no sandbox");
    }
}
