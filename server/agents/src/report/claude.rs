//! Claude Code: `--output-format stream-json`. Qwen Code writes the same form.

use serde_json::Value;

use super::{Said, Sink, Usage, message, text, uses};

pub(super) fn read(event: &Value, sink: Sink<'_>) {
    if let Some(session) = text(event, "/session_id") {
        sink(Said::Session(session.to_owned()));
    }
    match text(event, "/type").unwrap_or_default() {
        "system" => {
            if let Some(model) = text(event, "/model") {
                sink(Said::Model(model.to_owned()));
            }
        }
        "assistant" => {
            // An agent that the agent has started speaks to it, not to the caller.
            if !event.pointer("/parent_tool_use_id").is_none_or(Value::is_null) {
                return;
            }
            let blocks = event.pointer("/message/content").and_then(Value::as_array);
            for block in blocks.into_iter().flatten() {
                match text(block, "/type").unwrap_or_default() {
                    "text" => message(text(block, "/text").unwrap_or_default(), sink),
                    "tool_use" => uses(text(block, "/name").unwrap_or("a tool"), sink),
                    _ => {}
                }
            }
        }
        "result" => {
            let is_error = event.pointer("/is_error").and_then(Value::as_bool).unwrap_or(false);
            let said = text(event, "/result").or_else(|| text(event, "/error/message"));
            match (is_error, said) {
                (false, Some(answer)) => message(answer, sink),
                (true, said) => {
                    let said = said.or_else(|| text(event, "/errors/0")).or_else(|| text(event, "/subtype"));
                    let status = event.pointer("/api_error_status").and_then(Value::as_u64);
                    sink(Said::Error(
                        said.unwrap_or("it reported an error without a message").to_owned(),
                        status,
                    ));
                }
                (false, None) => {}
            }
            if let Some(usage) = event.pointer("/usage") {
                const READ: &[&str] =
                    &["/input_tokens", "/cache_creation_input_tokens", "/cache_read_input_tokens"];
                sink(Said::Usage(Usage::tokens(usage, READ, &["/output_tokens"])));
            }
        }
        _ => {}
    }
}
