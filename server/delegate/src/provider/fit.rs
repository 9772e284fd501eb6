//! Keeps answers within what a host shows, and says what was cut.

use entraclaw_mcp::json_bytes::json_prefix;
use entraclaw_mcp::{ANSWER_BYTES_MAX, FRAME_BYTES};
use serde_json::{Map, Value, json};

/// The member `name` of an answer: so much of the text from `offset` as there is room for, and where to read on.
pub(super) fn add_text(answer: &mut Map<String, Value>, name: &str, text: &str, offset: usize) {
    let used = Value::Object(answer.clone()).to_string().len();
    let room = ANSWER_BYTES_MAX.saturating_sub(used + FRAME_BYTES);
    let rest = text.get(offset..).unwrap_or_default();
    let end = json_prefix(rest, room);
    answer.insert(name.to_owned(), json!(&rest[..end]));
    if end < rest.len() {
        let next = offset + end;
        answer.insert("next_offset".to_owned(), json!(next));
        let hint = format!("{name} has {} bytes; call poll_task with offset {next} for the rest", text.len());
        answer.insert("hint".to_owned(), json!(hint));
    }
}

/// A text cut to so many bytes in JSON, with a mark.
pub(super) fn short(text: &str, bytes_max: usize) -> String {
    let end = json_prefix(text, bytes_max);
    if end == text.len() {
        return text.to_owned();
    }
    format!("{}… [cut: {end} of {} bytes]", &text[..end], text.len())
}
