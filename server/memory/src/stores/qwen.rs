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

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::super::session::{Agent, Session};
    use super::*;

    #[rstest]
    #[case::a_text(json!({"text": "hi"}), Role::User, &[(Role::User, None, "hi")], 0)]
    #[case::an_answer(json!({"text": "hi", "thought": false}), Role::Assistant, &[(Role::Assistant, None, "hi")], 0)]
    #[case::a_thought(json!({"text": "hi", "thought": true}), Role::Assistant, &[], 0)]
    #[case::by_the_program(json!({"text": "<system-reminder>x"}), Role::User, &[], 0)]
    #[case::quoted_by_the_model(
        json!({"text": "<system-reminder>x"}),
        Role::Assistant,
        &[(Role::Assistant, None, "<system-reminder>x")],
        0
    )]
    #[case::a_call(
        json!({"functionCall": {"name": "run", "args": {"command": "ls"}}}),
        Role::Assistant,
        &[(Role::Tool, Some("run"), "ls")],
        0
    )]
    #[case::its_result(
        json!({"functionResponse": {"name": "run", "response": {"output": "notes.txt"}}}),
        Role::User,
        &[(Role::Tool, None, "notes.txt")],
        0
    )]
    #[case::a_picture(json!({"inlineData": {"mimeType": "image/png", "data": "x"}}), Role::User, &[], 0)]
    #[case::a_file(json!({"fileData": {"fileUri": "x"}}), Role::User, &[], 0)]
    #[case::something_else(json!({"executableCode": {"code": "x"}}), Role::Assistant, &[], 1)]
    fn a_part_of_a_message_is_taken_passed_over_or_told(
        #[case] part: Value,
        #[case] role: Role,
        #[case] taken: &[(Role, Option<&str>, &str)],
        #[case] unknown: u64,
    ) {
        let mut gather = Gather::new(Session::new(Agent::Qwen, "s", "s.jsonl".into()));
        add_part(&part, role, None, &mut gather);
        let found: Vec<_> =
            gather.messages.iter().map(|one| (one.role, one.tool.as_deref(), one.text.as_str())).collect();
        assert_eq!(found, taken);
        assert_eq!(gather.tally.unknown.values().sum::<u64>(), unknown);
    }
}
