//! The logs of Qwen Code.
//!
//! Recorded from 0.24.4; the names of other records are read in the same program. It must never take what the program
//! tells the model for the person's words.

use serde_json::Value;

use super::gather::{Gather, time, word};
use super::parts::{is_by_program, words};
use super::session::Role;

pub(super) fn line(line: &Value, gather: &mut Gather) {
    let Some(kind) = word(line, "type") else {
        gather.tally.malformed += 1;
        return;
    };
    let at = time(line, "timestamp");
    gather.saw(at);
    gather.id(word(line, "sessionId"));
    gather.folder(word(line, "cwd"));
    gather.version(word(line, "version"));
    let parts = line.get("message").and_then(|message| message.get("parts")).and_then(Value::as_array);
    let parts = parts.map(Vec::as_slice).unwrap_or_default();
    match kind {
        "user" | "assistant" | "tool_result" => {
            let role = if kind == "user" { Role::User } else { Role::Assistant };
            for part in parts {
                add_part(part, role, at, gather);
            }
        }
        "system" => match word(line, "subtype") {
            Some("custom_title") => {
                let title = line.get("systemPayload").and_then(|payload| word(payload, "customTitle"));
                gather.title(title);
            }
            Some(
                "attribution_snapshot"
                | "ui_telemetry"
                | "file_history_snapshot"
                | "chat_compression"
                | "slash_command"
                | "session_model"
                | "session_source"
                | "rewind"
                | "turn_result",
            ) => {}
            other => gather.tally.count_unknown(other.unwrap_or("system")),
        },
        other => gather.tally.count_unknown(other),
    }
}

/// Adds a part of Google's form of a message, which the Gemini CLI has too.
pub(super) fn add_part(part: &Value, role: Role, at: Option<jiff::Timestamp>, gather: &mut Gather) {
    if part.get("thought").and_then(Value::as_bool).unwrap_or(false) {
        return;
    }
    if let Some(text) = word(part, "text") {
        if !(role == Role::User && is_by_program(text)) {
            gather.add(role, text, at);
        }
    } else if let Some(call) = part.get("functionCall") {
        gather.add_tool(word(call, "name"), &call.get("args").map(words).unwrap_or_default(), at);
    } else if let Some(response) = part.get("functionResponse") {
        let text = response.get("response").map(words).unwrap_or_default();
        // As in the stores of the others, only a call has the name.
        gather.add_tool(None, &text, at);
    } else if part.get("inlineData").is_none() && part.get("fileData").is_none() {
        gather.tally.count_unknown("a part of a message");
    }
}
