//! Copilot CLI: `--output-format json`.

use serde_json::Value;

use super::{Said, Sink, Usage, message, text, uses};

pub(super) fn read(event: &Value, has_pieces: &mut bool, sink: Sink<'_>) {
    let kind = text(event, "/type").unwrap_or_default();
    match kind {
        "assistant.message_start" => {
            *has_pieces = false;
            sink(Said::Begins);
        }
        "assistant.message_delta" => {
            if let Some(piece) = text(event, "/data/deltaContent") {
                *has_pieces = true;
                sink(Said::Text(piece.to_owned()));
            }
        }
        "assistant.message" => {
            if let Some(model) = text(event, "/data/model") {
                sink(Said::Model(model.to_owned()));
            }
            // The whole text repeats its pieces.
            if let Some(whole) = text(event, "/data/content").filter(|_| !*has_pieces) {
                message(whole, sink);
            }
            *has_pieces = false;
        }
        "tool.execution_start" => uses(text(event, "/data/toolName").unwrap_or("a tool"), sink),
        "session.error" => {
            let said = text(event, "/data/message").unwrap_or("it reported an error without a message");
            let status = event.pointer("/data/statusCode").and_then(Value::as_u64);
            sink(Said::Error(said.to_owned(), status));
        }
        "result" => {
            if let Some(session) = text(event, "/sessionId") {
                sink(Said::Session(session.to_owned()));
            }
            if let Some(code) = event.pointer("/exitCode").and_then(Value::as_i64) {
                sink(Said::Exit(code));
            }
            if let Some(files) = event.pointer("/usage/codeChanges/filesModified").and_then(Value::as_array) {
                let files = files.iter().filter_map(Value::as_str).map(str::to_owned).collect();
                sink(Said::Files(files));
            }
            if let Some(requests) = event.pointer("/usage/premiumRequests").and_then(Value::as_u64) {
                sink(Said::Usage(Usage { requests: Some(requests), ..Usage::default() }));
            }
        }
        _ => {}
    }
}
