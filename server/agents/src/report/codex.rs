//! Codex: `exec --json`.

use serde_json::Value;

use super::{Said, Sink, Usage, message, text, uses};

pub(super) fn read(event: &Value, sink: Sink<'_>) {
    match text(event, "/type").unwrap_or_default() {
        "thread.started" => {
            if let Some(session) = text(event, "/thread_id") {
                sink(Said::Session(session.to_owned()));
            }
        }
        "item.started" => match text(event, "/item/type").unwrap_or_default() {
            "command_execution" => uses("a command", sink),
            "mcp_tool_call" => uses(text(event, "/item/tool").unwrap_or("a tool"), sink),
            "web_search" => uses("web search", sink),
            _ => {}
        },
        "item.completed" => match text(event, "/item/type").unwrap_or_default() {
            "agent_message" => message(text(event, "/item/text").unwrap_or_default(), sink),
            "file_change" => {
                let changes = event.pointer("/item/changes").and_then(Value::as_array);
                let files = changes.into_iter().flatten().filter_map(|change| text(change, "/path"));
                sink(Said::Files(files.map(str::to_owned).collect()));
            }
            _ => {}
        },
        "turn.completed" => {
            if let Some(usage) = event.pointer("/usage") {
                sink(Said::Usage(Usage::tokens(usage, &["/input_tokens"], &["/output_tokens"])));
            }
        }
        "turn.failed" => error(text(event, "/error/message"), sink),
        "error" => error(text(event, "/message"), sink),
        _ => {}
    }
}

fn error(said: Option<&str>, sink: Sink<'_>) {
    let said = said.unwrap_or("it reported an error without a message");
    // While it tries again it reports each try as an error.
    if said.starts_with("Reconnecting") {
        sink(Said::Step(said.to_owned()));
    } else {
        sink(Said::Error(said.to_owned(), None));
    }
}
