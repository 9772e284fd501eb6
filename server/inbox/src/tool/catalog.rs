//! The list of tools as `tools/list` shows it: one page, always in the same order, with plain schemas.
//!
//! It must never use type arrays, formats or references, because some hosts refuse the whole list for one of
//! them.

use std::sync::Arc;

use rmcp::model::{MetaObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::texts;

/// The tool that waits for a message.
pub const WAIT_FOR_INBOUND_MESSAGE: &str = "wait_for_inbound_message";
/// The tool that reads the inbox without waiting.
pub const INBOX_PULL: &str = "inbox_pull";
/// The tool that counts messages.
pub const INBOUND_QUEUE_STATS: &str = "inbound_queue_stats";
/// The most messages in one answer. A caller that asks for more gets this many, and the number of those left.
pub(crate) const ITEMS_MAX: u64 = 100;
/// The largest number of seconds or messages that a caller may ask for.
pub const ASKED_MAX: u64 = 0xffff_ffff;
/// How long `wait_for_inbound_message` waits by default, in seconds.
pub(crate) const WAIT_DEFAULT_S: u64 = 50;
/// Messages per wait by default.
pub(crate) const WAIT_ITEMS_DEFAULT: u64 = 10;
/// Messages per pull by default.
pub(crate) const PULL_LIMIT_DEFAULT: u64 = 20;

/// The tools of the inbox itself.
pub(crate) fn inbound() -> Vec<Tool> {
    vec![
        tool(INBOUND_QUEUE_STATS, "Inbox counts", texts::STATS, &json!({}), &[], reads(), false),
        tool(
            INBOX_PULL,
            "Read inbox",
            texts::PULL,
            &json!({
                "since_id": {"type": "string", "default": "", "description":
                    "Only messages after the one with this id; also acknowledges that one. Empty: everything unread."},
                "limit": {"type": "integer", "minimum": 1, "default": PULL_LIMIT_DEFAULT, "description":
                    "At most this many messages, and never more than 100."},
                "mark_consumed": {"type": "boolean", "default": true, "description":
                    "false: only look; the messages stay unread."},
                "channel": {"type": "string", "enum": ["", "teams", "email", "bot", "work"], "default": "", "description":
                    "Only messages from this source. Empty: all."}
            }),
            &[],
            reads(),
            true,
        ),
        tool(
            WAIT_FOR_INBOUND_MESSAGE,
            "Wait for messages",
            texts::WAIT,
            &json!({
                "timeout_s": {"type": "integer", "minimum": 0, "default": WAIT_DEFAULT_S, "description":
                    "Longest wait in seconds; 0: until something arrives. More than the host can bear is shortened."},
                "max_items": {"type": "integer", "minimum": 1, "default": WAIT_ITEMS_DEFAULT, "description":
                    "At most this many messages, and never more than 100."}
            }),
            &[],
            reads(),
            true,
        ),
    ]
}

/// The annotations of a reading tool, which moves only its consumer's own cursor. A host runs no other tool
/// beside one that it takes for writing.
pub fn reads() -> ToolAnnotations {
    ToolAnnotations::new().read_only(true).destructive(false).idempotent(false).open_world(true)
}

/// The annotations of a tool whose effect other people see.
pub fn writes() -> ToolAnnotations {
    ToolAnnotations::new().read_only(false).destructive(false).idempotent(false).open_world(true)
}

/// A tool as `tools/list` shows it.
pub fn tool(
    name: &'static str,
    title: &str,
    description: &'static str,
    properties: &Value,
    required: &[&str],
    annotations: ToolAnnotations,
    always_load: bool,
) -> Tool {
    let mut schema = serde_json::Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.clone());
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    schema.insert("additionalProperties".to_owned(), false.into());
    let mut annotations = annotations;
    annotations.title = Some(title.to_owned());
    let tool = Tool::new(name, description, Arc::new(schema)).with_annotations(annotations);
    if !always_load {
        return tool;
    }
    // Claude Code hides descriptions of tools without this mark until the model searches for them.
    let mut meta = MetaObject::new();
    meta.insert("anthropic/alwaysLoad".to_owned(), true.into());
    tool.with_meta(meta)
}
