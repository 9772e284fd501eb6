//! The transcripts of Claude Code, those of its sub-agents included.
//!
//! Recorded from 2.1.330; the names of titles and of compaction are read in the same program. It must never take what
//! the program adds to a prompt for the person's words.

use serde_json::Value;

use super::gather::{Gather, time, word};
use super::parts::{is_by_program, text_of, words};
use super::session::{Message, Place, Role};

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
    match kind {
        "user" | "assistant" => message(line, kind == "user", gather),
        "summary" => gather.title(word(line, "summary")),
        "ai-title" => gather.title(word(line, "aiTitle")),
        "custom-title" => gather.title(word(line, "customTitle")),
        "system"
        | "attachment"
        | "queue-operation"
        | "last-prompt"
        | "atis-latch"
        | "api-request"
        | "api-request-blob"
        | "api-request-shape"
        | "tools-used"
        | "cost-state"
        | "mode"
        | "agent-name"
        | "file-history-snapshot" => {}
        other => gather.tally.count_unknown(other),
    }
}

fn is_set(line: &Value, name: &str) -> bool {
    line.get(name).and_then(Value::as_bool).unwrap_or(false)
}

fn message(line: &Value, is_user: bool, gather: &mut Gather) {
    let content = line.get("message").and_then(|message| message.get("content")).unwrap_or(&Value::Null);
    let role = if is_set(line, "isCompactSummary") {
        Role::Summary
    } else if is_user {
        Role::User
    } else {
        Role::Assistant
    };
    let (is_side, at) = (is_set(line, "isSidechain"), time(line, "timestamp"));
    let mut push = |role, text: String, tool: Option<&str>| {
        let tool = tool.map(str::to_owned);
        gather.push(Message { role, text, at, tool, is_side, place: Place::default() });
    };
    let is_meta = is_set(line, "isMeta");
    let blocks = match content {
        Value::Array(blocks) => blocks.as_slice(),
        other => std::slice::from_ref(other),
    };
    let mut unknown = Vec::new();
    for block in blocks {
        match (block, word(block, "type")) {
            (Value::String(_), _) | (_, Some("text")) => {
                let text = text_of(block);
                let is_added = is_meta || (role == Role::User && is_by_program(&text));
                if !is_added {
                    push(role, text, None);
                }
            }
            (_, Some("tool_use")) => {
                push(Role::Tool, block.get("input").map(words).unwrap_or_default(), word(block, "name"));
            }
            (_, Some("tool_result")) => {
                push(Role::Tool, block.get("content").map(text_of).unwrap_or_default(), None);
            }
            (_, Some("thinking" | "redacted_thinking" | "image" | "document")) | (Value::Null, _) => {}
            (_, other) => unknown.push(other.unwrap_or("a block without a type").to_owned()),
        }
    }
    for kind in unknown {
        gather.tally.count_unknown(&kind);
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::super::session::{Agent, Session};
    use super::*;

    #[rstest]
    #[case(json!({"type": "user", "message": {"content": "a"}}), &[(Role::User, None, "a")], 0)]
    #[case(
        json!({"type": "assistant", "message": {"content": [{"type": "text", "text": "a"}]}}),
        &[(Role::Assistant, None, "a")],
        0
    )]
    #[case(json!({"type": "user", "message": {"content": "<system-reminder>a"}}), &[], 0)]
    #[case(
        json!({"type": "assistant", "message": {"content": "<system-reminder>a"}}),
        &[(Role::Assistant, None, "<system-reminder>a")],
        0
    )]
    #[case(json!({"type": "user", "isMeta": true, "message": {"content": "a"}}), &[], 0)]
    #[case(json!({"type": "user", "isMeta": false, "message": {"content": "a"}}), &[(Role::User, None, "a")], 0)]
    #[case(
        json!({"type": "assistant", "isCompactSummary": true, "message": {"content": "a"}}),
        &[(Role::Summary, None, "a")],
        0
    )]
    #[case(
        json!({"type": "assistant", "message": {"content": [
            {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}},
        ]}}),
        &[(Role::Tool, Some("Bash"), "ls")],
        0
    )]
    #[case(
        json!({"type": "user", "message": {"content": [{"type": "tool_result", "content": [{"text": "a"}]}]}}),
        &[(Role::Tool, None, "a")],
        0
    )]
    #[case(json!({"type": "assistant", "message": {"content": [{"type": "thinking", "text": "a"}]}}), &[], 0)]
    #[case(json!({"type": "user", "message": {"content": [{"type": "image"}, {"type": "document"}]}}), &[], 0)]
    #[case(json!({"type": "user", "message": {"content": [{"type": "ofTomorrow"}, {"a": 1}]}}), &[], 2)]
    #[case(json!({"type": "user", "message": {}}), &[], 0)]
    #[case(json!({"type": "cost-state", "message": {"content": "a"}}), &[], 0)]
    #[case(json!({"type": "ofTomorrow"}), &[], 1)]
    fn a_line_is_taken_passed_over_or_told(
        #[case] said: Value,
        #[case] taken: &[(Role, Option<&str>, &str)],
        #[case] unknown: u64,
    ) {
        let mut gather = Gather::new(Session::new(Agent::Claude, "one", "/one".into()));
        line(&said, &mut gather);
        let found: Vec<_> =
            gather.messages.iter().map(|one| (one.role, one.tool.as_deref(), one.text.as_str())).collect();
        assert_eq!((found.as_slice(), gather.tally.unknown.values().sum::<u64>()), (taken, unknown));
    }

    #[test]
    fn the_latest_title_stays_whoever_gave_it() {
        let mut gather = Gather::new(Session::new(Agent::Claude, "one", "/one".into()));
        for (kind, member, title) in
            [("summary", "summary", "A"), ("ai-title", "aiTitle", "B"), ("custom-title", "customTitle", "C")]
        {
            line(&json!({"type": kind, member: title}), &mut gather);
            assert_eq!(gather.session.title.as_deref(), Some(title));
        }
    }
}
