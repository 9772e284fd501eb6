//! Gemini CLI: `--output-format stream-json`.

use serde_json::Value;

use super::{Said, Sink, Usage, message, text, uses};

pub(super) fn read(event: &Value, has_pieces: &mut bool, sink: Sink<'_>) {
    match text(event, "/type").unwrap_or_default() {
        "init" => {
            if let Some(session) = text(event, "/session_id") {
                sink(Said::Session(session.to_owned()));
            }
            if let Some(model) = text(event, "/model") {
                sink(Said::Model(model.to_owned()));
            }
        }
        "message" if text(event, "/role") == Some("assistant") => {
            let Some(piece) = text(event, "/content") else { return };
            if event.pointer("/delta").and_then(Value::as_bool) != Some(true) {
                *has_pieces = false;
                return message(piece, sink);
            }
            if !std::mem::replace(has_pieces, true) {
                sink(Said::Begins);
            }
            sink(Said::Text(piece.to_owned()));
        }
        "tool_use" => {
            *has_pieces = false;
            uses(text(event, "/tool_name").unwrap_or("a tool"), sink);
        }
        "error" if text(event, "/severity") != Some("warning") => {
            sink(Said::Error(text(event, "/message").unwrap_or("it reported an error").to_owned(), None));
        }
        "result" => {
            if text(event, "/status") == Some("error") {
                let said = text(event, "/error/message").unwrap_or("it reported an error without a message");
                sink(Said::Error(said.to_owned(), None));
            }
            if let Some(usage) = event.pointer("/stats") {
                sink(Said::Usage(Usage::tokens(usage, &["/input_tokens"], &["/output_tokens"])));
            }
        }
        _ => {}
    }
}
