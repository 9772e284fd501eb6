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

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::super::session::{Agent, Session};
    use super::*;

    #[rstest]
    #[case(json!({"type": "message", "role": "user", "content": [{"text": "a"}]}), &[(Role::User, None, "a")], 0)]
    #[case(json!({"type": "message", "role": "assistant", "content": "a"}), &[(Role::Assistant, None, "a")], 0)]
    #[case(json!({"type": "message", "role": "developer", "content": "a"}), &[], 0)]
    #[case(json!({"type": "message", "role": "user", "content": "<environment_context>a"}), &[], 0)]
    #[case(
        json!({"type": "function_call", "name": "run", "arguments": "{\"command\":[\"ls\",\"-l\"]}"}),
        &[(Role::Tool, Some("run"), "ls\n-l")],
        0
    )]
    #[case(
        json!({"type": "function_call", "name": "run", "arguments": "ls {"}),
        &[(Role::Tool, Some("run"), "ls {")],
        0
    )]
    #[case(
        json!({"type": "custom_tool_call", "name": "apply_patch", "input": "a"}),
        &[(Role::Tool, Some("apply_patch"), "a")],
        0
    )]
    #[case(json!({"type": "local_shell_call", "action": {"command": ["ls"]}}), &[(Role::Tool, Some("shell"), "ls")], 0)]
    #[case(json!({"type": "function_call_output", "output": "a"}), &[(Role::Tool, None, "a")], 0)]
    #[case(json!({"type": "custom_tool_call_output", "output": {"content": "a"}}), &[(Role::Tool, None, "a")], 0)]
    #[case(json!({"type": "reasoning", "content": "a"}), &[], 0)]
    #[case(json!({"type": "ofTomorrow"}), &[], 1)]
    #[case(json!({}), &[], 1)]
    fn an_item_is_taken_passed_over_or_told(
        #[case] payload: Value,
        #[case] taken: &[(Role, Option<&str>, &str)],
        #[case] unknown: u64,
    ) {
        let mut gather = Gather::new(Session::new(Agent::Codex, "one", "/one".into()));
        line(&json!({"type": "response_item", "payload": payload}), &mut gather);
        let found: Vec<_> =
            gather.messages.iter().map(|one| (one.role, one.tool.as_deref(), one.text.as_str())).collect();
        assert_eq!((found.as_slice(), gather.tally.unknown.values().sum::<u64>()), (taken, unknown));
    }

    #[test]
    fn a_rollout_says_which_session_it_is_and_what_was_before() {
        let mut gather = Gather::new(Session::new(Agent::Codex, "guess", "/one".into()));
        let at = "2026-11-26T00:00:00Z";
        let of = |kind: &str, payload: Value| json!({"type": kind, "payload": payload, "timestamp": at});
        line(&of("session_meta", json!({"id": "one", "cwd": "/a", "cli_version": "1"})), &mut gather);
        assert_eq!(gather.session.folder.as_deref(), Some("/a"));
        line(&of("turn_context", json!({"cwd": "/b"})), &mut gather);
        line(&of("compacted", json!({"message": "all"})), &mut gather);
        line(&of("event_msg", json!({"message": "again"})), &mut gather);
        line(&of("ofTomorrow", json!({})), &mut gather);
        line(&json!({"type": "compacted"}), &mut gather);
        let session = &gather.session;
        assert_eq!(
            (session.id.as_str(), session.folder.as_deref(), session.version.as_deref()),
            ("one", Some("/b"), Some("1"))
        );
        assert_eq!((gather.messages.len(), gather.messages[0].role), (1, Role::Summary));
        assert_eq!((gather.tally.unknown.len(), gather.tally.malformed), (1, 1));
    }
}
