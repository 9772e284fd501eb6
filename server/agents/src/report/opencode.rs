//! opencode: `run --format json`.

use serde_json::Value;

use super::{Said, Sink, Usage, message, text, uses};

pub(super) fn read(event: &Value, sink: Sink<'_>) {
    if let Some(session) = text(event, "/sessionID") {
        sink(Said::Session(session.to_owned()));
    }
    match text(event, "/type").unwrap_or_default() {
        "text" => message(text(event, "/part/text").unwrap_or_default(), sink),
        "tool_use" => uses(text(event, "/part/tool").unwrap_or("a tool"), sink),
        "step_finish" => {
            if let Some(usage) = event.pointer("/part/tokens") {
                const READ: &[&str] = &["/input", "/cache/read", "/cache/write"];
                sink(Said::Usage(Usage::tokens(usage, READ, &["/output", "/reasoning"])));
            }
        }
        "error" => {
            let said = text(event, "/error/data/message").or_else(|| text(event, "/error/name"));
            let status = event.pointer("/error/data/statusCode").and_then(Value::as_u64);
            sink(Said::Error(said.unwrap_or("it reported an error without a message").to_owned(), status));
        }
        _ => {}
    }
}
