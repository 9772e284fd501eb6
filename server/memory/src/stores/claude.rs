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
