//! Compares the characters of a message as each carrier showed them. A message is recognised by the id that
//! was shown with it; texts that are not known to be one message must never be compared.
//!
//! Two formats of shown text are understood: a `<channel … message_id="…">` element, and JSON with objects
//! that have an id and a text (a tool's answer, a resource, lines of JSON).

use std::collections::BTreeMap;

use serde_json::Value;

use super::{DIFFERENCES_MAX, Difference, Parity, Shown};
use crate::diff;
use crate::event::{CellFinished, ModelLine};
use crate::stream::Stream;
use crate::text::cut;

/// Bytes of a text that are compared word by word.
const TEXT_BYTES_MAX: usize = 16 * 1024;
/// Members with a message's text, the most certain first.
const TEXT_MEMBERS: [&str; 3] = ["content_text_sanitized", "content", "text"];
/// Depth of the search for messages in JSON.
const DEPTH_MAX: usize = 16;

/// Compares messages that were shown more than once within a run.
pub(super) fn compare(stream: &Stream) -> Parity {
    let mut parity = Parity { messages: 0, equal: 0, differences: Vec::new(), differences_left_out: 0 };
    for run in &stream.cells {
        compare_run(run, &mut parity);
    }
    parity
}

fn compare_run(run: &CellFinished, parity: &mut Parity) {
    // The texts of each message in order of time, each with its carrier.
    let mut shown: BTreeMap<MessageKey, Vec<(String, String)>> = BTreeMap::new();
    for line in &run.model_view {
        for (key, text) in messages(&line.text) {
            shown.entry(key).or_default().push((carrier(line), text));
        }
    }
    for ((_, message_id), texts) in shown {
        let [(first_carrier, first), later @ ..] = &texts[..] else { continue };
        if later.is_empty() {
            continue;
        }
        parity.messages += 1;
        let Some((other_carrier, other)) = later.iter().find(|(_, text)| text != first) else {
            parity.equal += 1;
            continue;
        };
        if parity.differences.len() == DIFFERENCES_MAX {
            parity.differences_left_out += 1;
            continue;
        }
        let (a, b) = (cut(first, TEXT_BYTES_MAX), cut(other, TEXT_BYTES_MAX));
        let (left, right) = diff::words(a.head, b.head);
        let side = |carrier: &str, pieces, left_out_bytes| Shown {
            carrier: carrier.to_owned(),
            pieces,
            left_out_bytes,
        };
        parity.differences.push(Difference {
            scenario: run.scenario.clone(),
            host: run.host.clone(),
            mode: run.mode.clone(),
            seed: run.seed,
            message_id,
            first: side(first_carrier, left, a.left_out_bytes),
            second: side(other_carrier, right, b.left_out_bytes),
        });
    }
}

fn carrier(line: &ModelLine) -> String {
    match &line.tool {
        Some(tool) => format!("{} {tool}", line.carrier),
        None => line.carrier.clone(),
    }
}

/// Chat and id of a message, since two chats may have equal ids. The chat is empty if none is shown.
type MessageKey = (String, String);

/// Every message in a shown text, with its own text.
fn messages(text: &str) -> Vec<(MessageKey, String)> {
    let mut found = Vec::new();
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        in_json(&value, 0, &mut found);
        return found;
    }
    for line in text.lines().filter(|line| line.trim_start().starts_with('{')) {
        if let Ok(value) = serde_json::from_str::<Value>(line) {
            in_json(&value, 0, &mut found);
        }
    }
    in_elements(text, &mut found);
    found
}

fn in_json(value: &Value, depth: usize, found: &mut Vec<(MessageKey, String)>) {
    if depth == DEPTH_MAX {
        return;
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| in_json(item, depth + 1, found)),
        Value::Object(members) => {
            let string = |name| members.get(name).and_then(Value::as_str);
            // A later version of a message may differ from the earlier one.
            if string("edit_of").is_some() || members.get("deleted") == Some(&Value::Bool(true)) {
                return;
            }
            let in_meta = value.pointer("/meta/message_id").and_then(Value::as_str);
            let id = in_meta.or_else(|| string("message_id")).or_else(|| string("id"));
            let text = TEXT_MEMBERS.iter().find_map(|name| string(name));
            if let (Some(id), Some(text)) = (id, text) {
                let chat =
                    value.pointer("/meta/chat_id").and_then(Value::as_str).or_else(|| string("chat_id"));
                found.push(((chat.unwrap_or_default().to_owned(), id.to_owned()), text.to_owned()));
            } else {
                members.values().for_each(|member| in_json(member, depth + 1, found));
            }
        }
        _ => {}
    }
}

/// `<channel …>`, line feed, content, line feed, `</channel>`: the form in which hosts show a channel
/// notification.
fn in_elements(text: &str, found: &mut Vec<(MessageKey, String)>) {
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("<channel ") {
        let Some((attributes, body)) = after.split_once('>') else { return };
        let Some((content, next)) = body.split_once("</channel>") else { return };
        rest = next;
        if attributes.contains("edit_of=") || attributes.contains("deleted=") {
            continue;
        }
        let attribute = |name: &str| {
            let (_, value) = attributes.split_once(&format!("{name}=\""))?;
            value.split_once('"').map(|(value, _)| unescape(value))
        };
        let Some(id) = attribute("message_id") else { continue };
        let content = content.strip_prefix('\n').unwrap_or(content);
        let content = content.strip_suffix('\n').unwrap_or(content);
        found.push(((attribute("chat_id").unwrap_or_default(), id), content.to_owned()));
    }
}

/// Reverses the host's escapes of attribute values.
fn unescape(value: &str) -> String {
    value
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&apos;", "'")
        .replace("&#39;", "'")
        .replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::messages;

    #[test]
    fn finds_messages_in_every_shape() {
        let expected = vec![("m1".to_owned(), "hi &lt;b&gt;".to_owned())];
        let push = "<channel source=\"inbox\" chat_id=\"c\" message_id=\"m1\">\nhi &lt;b&gt;\n</channel>";
        let pull = r#"{"unread_remaining":0,"messages":[{"id":"x","meta":{"message_id":"m1"},"content_text_sanitized":"hi &lt;b&gt;"}]}"#;
        let lines = "new mail:\n{\"id\":\"m1\",\"text\":\"hi &lt;b&gt;\"}\n";
        for shown in [push, pull, lines] {
            let found: Vec<_> = messages(shown).into_iter().map(|((_, id), text)| (id, text)).collect();
            assert_eq!(found, expected, "{shown}");
        }
    }

    #[test]
    fn equal_ids_of_two_chats_are_two_messages() {
        let shown =
            r#"{"messages":[{"id":"7","chat_id":"a","text":"x"},{"id":"7","chat_id":"b","text":"y"}]}"#;
        let chats: Vec<_> = messages(shown).into_iter().map(|((chat, _), _)| chat).collect();
        assert_eq!(chats, ["a", "b"]);
    }

    #[test]
    fn finds_nothing_in_other_text() {
        for shown in
            ["", "plain", "{}", "<channel ", "<channel a>", "<channel a=\"b\">x</channel>", "[[[[1]]]]"]
        {
            assert!(messages(shown).is_empty(), "{shown}");
        }
    }
}
