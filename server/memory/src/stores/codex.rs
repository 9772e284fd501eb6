//! The rollouts of the Codex CLI.
//!
//! Recorded from 0.169.0. Items of the model's history are read and not the events that repeat them. It must never take
//! the instructions of the program for the person's words.

use serde_json::Value;

use super::gather::{Gather, time, word};
use super::parts::{is_by_program, text_of, words};
use super::session::Role;

pub(super) fn line(line: &Value, gather: &mut Gather) {
    let (Some(kind), Some(payload)) = (word(line, "type"), line.get("payload")) else {
        gather.tally.malformed += 1;
        return;
    };
    let at = time(line, "timestamp");
    gather.saw(at);
    match kind {
        "session_meta" => {
            gather.id(word(payload, "id"));
            gather.folder(word(payload, "cwd"));
            gather.version(word(payload, "cli_version"));
        }
        "turn_context" => gather.folder(word(payload, "cwd")),
        "response_item" => item(payload, at, gather),
        "compacted" => gather.add(Role::Summary, word(payload, "message").unwrap_or_default(), at),
        "event_msg" | "world_state" | "token_usage_record" => {}
        other => gather.tally.count_unknown(other),
    }
}

fn item(item: &Value, at: Option<jiff::Timestamp>, gather: &mut Gather) {
    match word(item, "type") {
        Some("message") => {
            let text = item.get("content").map(text_of).unwrap_or_default();
            match word(item, "role") {
                Some("user") if !is_by_program(&text) => gather.add(Role::User, &text, at),
                Some("assistant") => gather.add(Role::Assistant, &text, at),
                _ => {}
            }
        }
        Some("function_call") => {
            let arguments = word(item, "arguments").unwrap_or_default();
            let text = serde_json::from_str(arguments).map_or(arguments.to_owned(), |value| words(&value));
            gather.add_tool(word(item, "name"), &text, at);
        }
        Some("custom_tool_call") => {
            gather.add_tool(word(item, "name"), word(item, "input").unwrap_or_default(), at);
        }
        Some("local_shell_call") => {
            gather.add_tool(Some("shell"), &item.get("action").map(words).unwrap_or_default(), at);
        }
        Some("function_call_output" | "custom_tool_call_output") => {
            gather.add_tool(None, &item.get("output").map(words).unwrap_or_default(), at);
        }
        Some("reasoning" | "web_search_call" | "ghost_snapshot") => {}
        other => gather.tally.count_unknown(other.unwrap_or("an item without a type")),
    }
}
