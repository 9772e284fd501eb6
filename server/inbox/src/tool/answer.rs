//! Answers as the wire carries them: one block of text, small enough that no host cuts it.
//!
//! It must never send structured content (hosts disagree about which of the two the model sees), and never cut a
//! text without saying how to get the rest.

use rmcp::model::{CallToolResult, ContentBlock};
use serde::Serialize;
use serde_json::Value;

use super::results::MessageView;

/// Most bytes of one answer's text. Every host seen shows this much whole, in any script.
pub(crate) const ANSWER_BYTES_MAX: usize = 8_000;

/// Room kept for what stands around the messages of an answer, in bytes.
pub(crate) const FRAME_BYTES: usize = 512;

/// A tool's answer before the era's rules are applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    text: String,
    is_error: bool,
}

impl Answer {
    /// Compact JSON and a newline; some hosts join blocks without a separator.
    pub fn json(value: &impl Serialize) -> Self {
        match serde_json::to_string(value) {
            Ok(text) => Self { text: text + "\n", is_error: false },
            Err(error) => Self::error(&format!("the answer could not be written as json: {error}")),
        }
    }

    /// One sentence that names what is wrong and how to put it right.
    pub fn error(text: &str) -> Self {
        Self { text: format!("{text}\n"), is_error: true }
    }

    pub(crate) fn into_result(self) -> Value {
        let blocks = vec![ContentBlock::text(self.text)];
        let mut result =
            if self.is_error { CallToolResult::error(blocks) } else { CallToolResult::success(blocks) };
        // The era decides about this member, not the type; and absent means success in every version.
        result.result_type = None;
        if !self.is_error {
            result.is_error = None;
        }
        serde_json::to_value(result).unwrap_or_default()
    }
}

/// Cuts texts so that `messages` take at most `bytes_max` bytes as JSON. Whoever picked them has seen to it that
/// only a single message can be too long; this is what makes that one fit.
pub(crate) fn fit(messages: &mut [MessageView], bytes_max: usize) {
    let mut left = bytes_max;
    for message in messages {
        let size = json_bytes(message) + 1;
        if size > left {
            cut(message, size - left);
        }
        left = left.saturating_sub(json_bytes(message) + 1);
    }
}

/// The part of a text that begins at byte `from`, and says so; `None` when there is no such place.
pub(crate) fn part(mut whole: MessageView, from: usize) -> Option<MessageView> {
    let text = whole.content_text_sanitized.get(from..).filter(|text| !text.is_empty())?;
    whole.content_text_sanitized = text.to_owned();
    whole.part_from = from;
    Some(whole)
}

/// Splits `since_id` of a continuation into the message's id and the byte to go on from.
pub(crate) fn continuation(since_id: &str) -> Option<(&str, usize)> {
    let (id, from) = since_id.rsplit_once('#')?;
    Some((id, from.parse().ok()?))
}

fn json_bytes(value: &impl Serialize) -> usize {
    serde_json::to_string(value).map_or(0, |text| text.len())
}

fn cut(message: &mut MessageView, excess: usize) {
    // The longest continuation mark that can be needed, with its member name.
    let mark = json_bytes(&message.id) + r#","rest_since_id":"#.len() + "#4294967295".len();
    let whole = &message.content_text_sanitized;
    let room = json_bytes(whole).saturating_sub(2 + excess + mark);
    let end = json_prefix(whole, room);
    let rest_at = message.part_from + end;
    message.content_text_sanitized.truncate(end);
    message.rest_since_id = Some(format!("{}#{rest_at}", message.id));
}

/// The longest beginning of a text that takes at most `room` bytes in a JSON string.
pub(crate) fn json_prefix(whole: &str, room: usize) -> usize {
    let mut end = 0;
    let mut used = 0;
    for (at, c) in whole.char_indices() {
        used += json_char_bytes(c);
        if used > room {
            break;
        }
        end = at + c.len_utf8();
    }
    // Not inside `&amp;` and its like.
    if end < whole.len()
        && let Some(at) = whole[..end].rfind('&')
        && end - at < "&quot;".len()
        && !whole[at..end].contains(';')
    {
        end = at;
    }
    end
}

fn json_char_bytes(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        c if u32::from(c) < 0x20 => 6,
        c => c.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::record::Channel;

    fn message(text: &str) -> MessageView {
        MessageView {
            id: "1".to_owned(),
            channel: Channel::Teams,
            chat_id: "chat".to_owned(),
            from: "Alice".to_owned(),
            ts: String::new(),
            received_at: String::new(),
            content_text_sanitized: text.to_owned(),
            meta: BTreeMap::new(),
            redelivered: false,
            pushed: false,
            edit_of: None,
            deleted: false,
            part_from: 0,
            rest_since_id: None,
        }
    }

    #[test]
    fn a_long_text_comes_whole_in_parts_of_any_script() {
        for unit in ["a", "é", "\"\\\n", "\u{1}", "日本", "&amp;x", "&lt;", "🙂", "&&&&&&"] {
            let text = unit.repeat(3_000);
            let mut gathered = String::new();
            let mut from = 0;
            for _ in 0..200 {
                let mut messages = [part(message(&text), from).unwrap()];
                fit(&mut messages, 1_000);
                let [shown] = messages;
                assert!(json_bytes(&shown) < 1_000, "{unit:?}: {}", json_bytes(&shown));
                assert!(!shown.content_text_sanitized.is_empty());
                gathered.push_str(&shown.content_text_sanitized);
                let Some(rest) = shown.rest_since_id else { break };
                let (id, at) = continuation(&rest).unwrap();
                assert_eq!(id, "1");
                from = at;
            }
            assert_eq!(gathered, text, "{unit:?}");
        }
    }

    #[test]
    fn what_fits_is_not_touched() {
        let mut messages = [message("short"), message("&lt;b&gt;")];
        let before = messages.clone();
        fit(&mut messages, 1_000);
        assert_eq!(messages, before);
    }

    #[test]
    fn an_answer_is_one_text_block_that_ends_in_a_newline() {
        let answer = Answer::json(&serde_json::json!({"a": 1})).into_result();
        assert_eq!(answer.to_string(), r#"{"content":[{"type":"text","text":"{\"a\":1}\n"}]}"#);
        let error = Answer::error("no").into_result();
        assert_eq!(error.to_string(), r#"{"content":[{"type":"text","text":"no\n"}],"isError":true}"#);
    }
}
