//! Finds messages in the exact texts that a model was shown.

use serde_json::Value;

use crate::matching::first_json;

/// One message in one text that the model was shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sighting {
    /// Milliseconds since the start of the cell.
    pub at_ms: u64,
    /// `tool_result`, `channel`, …
    pub carrier: String,
    /// The tool, for a tool result.
    pub tool: Option<String>,
    /// The source's id of the message.
    pub message_id: String,
    /// Its chat.
    pub chat_id: String,
    /// Its version: empty as it was written, the stamp of an edit, or `deleted`.
    pub version: String,
    /// Its text, as the model read it.
    pub text: String,
    /// The part of the text that was shown; `None` for the whole.
    pub part: Part,
    /// Marked as shown before.
    pub redelivered: bool,
    /// Marked as pushed before.
    pub pushed: bool,
    /// Whether it woke an idle session.
    pub woke: bool,
}

/// A part of a text that was too long for one answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Part {
    /// Where it begins, in bytes.
    pub from: usize,
    /// More is behind it.
    pub goes_on: bool,
}

/// The bodies of the messages in a text that came through a host's wake-up: runs of lines behind `> `, in which `＠` and `＄`
/// stand for `@` and `$`. Such a text has no ids.
pub fn quoted(text: &str) -> Vec<String> {
    let mut bodies: Vec<String> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let Some(line) = line.strip_prefix("> ") else {
            inside = false;
            continue;
        };
        let line = line.replace('＠', "@").replace('＄', "$");
        match bodies.last_mut().filter(|_| inside) {
            Some(body) => {
                body.push('\n');
                body.push_str(&line);
            }
            None => bodies.push(line),
        }
        inside = true;
    }
    bodies
}

/// Where the line with the sender says that its message was shown before.
const SEEN_BEFORE: &str = ", you may have seen it before";

/// The messages in what `entraclaw wait` prints for a reader: a line with the sender, indented lines, a line with the call
/// that answers. A mail's has no chat.
fn printed(shown: &Sighting, text: &str) -> Vec<Sighting> {
    let mut found = Vec::new();
    let mut head: Option<&str> = None;
    let mut body: Vec<&str> = Vec::new();
    for line in text.lines() {
        if let Some(line) = line.strip_prefix("    ") {
            body.push(line);
        } else if line.starts_with("From ") {
            (head, body) = (Some(line), Vec::new());
        } else if let (Some(id), Some(_)) = (line.strip_prefix("It is the result of work "), head) {
            let Some(Ok(message_id)) = serde_json::Deserializer::from_str(id).into_iter::<String>().next()
            else {
                continue;
            };
            let from = head.take().unwrap_or_default();
            found.push(Sighting {
                message_id,
                chat_id: "work".to_owned(),
                text: std::mem::take(&mut body).join("\n"),
                redelivered: from.contains(SEEN_BEFORE),
                ..shown.clone()
            });
        } else if let (Some(call), Some(from)) = (line.strip_prefix("Answer with "), head.take()) {
            let value = |name: &str| {
                let rest = call.split(&format!("{name} ")).nth(1)?.trim_start_matches('[');
                serde_json::Deserializer::from_str(rest).into_iter::<String>().next()?.ok()
            };
            let chat_id = value("chat_id").or_else(|| value("conversation_id")).unwrap_or_default();
            let Some(message_id) = value("reply_to") else { continue };
            found.push(Sighting {
                message_id,
                chat_id,
                version: version(from.contains(", an edit"), from.contains(", taken back"), None),
                text: std::mem::take(&mut body).join("\n"),
                redelivered: from.contains(SEEN_BEFORE),
                ..shown.clone()
            });
        }
    }
    found
}

/// The output that a model reads in a notification that its host escapes as XML, with each
/// character as it was printed; `None` where there is no such output.
pub fn unescaped_output(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("<output-tail ")?;
    let (_, rest) = rest.split_once('>')?;
    let (output, _) = rest.split_once("</output-tail>")?;
    // Text that was escaped twice stays escaped once, as it was printed.
    Some(unescaped(output))
}

/// Every message in `text`. A tool result holds a JSON object with `messages`; a channel push is one element.
pub fn sightings(at_ms: u64, carrier: &str, tool: Option<&str>, woke: bool, text: &str) -> Vec<Sighting> {
    let shown = Sighting { at_ms, carrier: carrier.to_owned(), woke, ..Sighting::default() };
    if carrier == "channel" {
        return channels(&shown, text);
    }
    if carrier == "background_shell"
        && (text.contains("\nAnswer with ") || text.contains("\nIt is the result of work "))
    {
        return printed(&shown, text);
    }
    let Some(value) = first_json(text) else { return Vec::new() };
    in_value(&Sighting { tool: tool.map(str::to_owned), ..shown }, &value)
}

/// The [`oddity`] of a text and its [`sightings`], from one reading of the text.
pub fn look(
    at_ms: u64,
    carrier: &str,
    tool: Option<&str>,
    woke: bool,
    text: &str,
) -> (Option<String>, Vec<Sighting>) {
    if carrier == "channel" || !is_of_messages(tool, text) {
        return (oddity(tool, text), sightings(at_ms, carrier, tool, woke, text));
    }
    match serde_json::from_str(text) {
        Ok(value) => {
            let (carrier, tool) = (carrier.to_owned(), tool.map(str::to_owned));
            let shown = Sighting { at_ms, carrier, tool, woke, ..Sighting::default() };
            (odd_value(&value), in_value(&shown, &value))
        }
        Err(_) => (oddity(tool, text), sightings(at_ms, carrier, tool, woke, text)),
    }
}

/// The messages of a value, or the one that it is.
fn in_value(shown: &Sighting, value: &Value) -> Vec<Sighting> {
    let messages = match value.get("messages") {
        Some(messages) => messages.as_array().map_or(&[][..], Vec::as_slice),
        None => std::slice::from_ref(value),
    };
    messages
        .iter()
        .filter_map(|message| {
            Some(Sighting {
                message_id: message.get("id")?.as_str()?.to_owned(),
                chat_id: message.get("chat_id")?.as_str()?.to_owned(),
                version: version(
                    message.get("edit_of").is_some(),
                    flag(message, "deleted"),
                    message.pointer("/meta/edited_at").and_then(Value::as_str),
                ),
                text: message.get("content_text_sanitized")?.as_str()?.to_owned(),
                part: Part {
                    from: message.get("part_from").and_then(Value::as_u64).map_or(0, bytes),
                    goes_on: message.get("rest_since_id").is_some(),
                },
                redelivered: flag(message, "redelivered"),
                pushed: flag(message, "pushed"),
                ..shown.clone()
            })
        })
        .collect()
}

fn bytes(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// A message is shown again when it is edited or taken back, which is no repeat.
fn version(edited: bool, deleted: bool, edited_at: Option<&str>) -> String {
    match (edited, deleted) {
        (_, true) => "deleted".to_owned(),
        (true, false) => edited_at.unwrap_or("edited").to_owned(),
        (false, false) => String::new(),
    }
}

/// Tools whose results are one JSON object with messages and nothing else.
const MESSAGE_TOOLS: [&str; 2] = ["wait_for_inbound_message", "inbox_pull"];

/// The fault in a result that should hold messages and nothing else; `None` when there is none.
pub fn oddity(tool: Option<&str>, text: &str) -> Option<String> {
    if !is_of_messages(tool, text) {
        return None;
    }
    match serde_json::from_str(text) {
        Ok(value) => odd_value(&value),
        Err(error) => Some(format!("the result is not one JSON object: {error}")),
    }
}

fn is_of_messages(tool: Option<&str>, text: &str) -> bool {
    tool.is_some_and(|tool| MESSAGE_TOOLS.contains(&tool)) && text.trim_start().starts_with('{')
}

fn odd_value(value: &Value) -> Option<String> {
    let Some(messages) = value.get("messages").and_then(Value::as_array) else {
        return Some("the result has no list of messages".to_owned());
    };
    let whole = |message: &Value| {
        ["id", "chat_id", "content_text_sanitized"]
            .iter()
            .all(|name| message.get(name).is_some_and(Value::is_string))
    };
    let broken = messages.iter().position(|message| !whole(message))?;
    Some(format!("message {broken} of the result lacks its id, its chat or its text"))
}

fn flag(message: &Value, name: &str) -> bool {
    message.get(name).and_then(Value::as_bool).unwrap_or(false)
}

/// Each `<channel …>` element in what a model was shown.
fn channels(shown: &Sighting, text: &str) -> Vec<Sighting> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find("<channel ") {
        rest = &rest[start + "<channel ".len()..];
        let Some(head_end) = rest.find('>') else { break };
        let head = &rest[..head_end];
        let Some(body_end) = rest[head_end..].find("\n</channel>") else { break };
        let body = &rest[head_end + 1..head_end + body_end];
        let content = body.strip_prefix('\n').unwrap_or(body);
        if let (Some(chat_id), Some(message_id)) = (attribute(head, "chat_id"), attribute(head, "message_id"))
        {
            let edited_at = attribute(head, "edited_at");
            let (edited, deleted) =
                (attribute(head, "edit_of").is_some(), attribute(head, "deleted").is_some());
            found.push(Sighting {
                chat_id,
                message_id,
                version: version(edited, deleted, edited_at.as_deref()),
                redelivered: attribute(head, "redelivered").as_deref() == Some("true"),
                text: content.to_owned(),
                ..shown.clone()
            });
        }
        rest = &rest[head_end + body_end..];
    }
    found
}

fn attribute(head: &str, name: &str) -> Option<String> {
    let start = head.find(&format!("{name}=\""))? + name.len() + 2;
    let end = head[start..].find('"')? + start;
    Some(unescaped(&head[start..end]))
}

/// A text without the escapes of XML, one layer of them.
fn unescaped(text: &str) -> String {
    let value = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'");
    value.replace("&apos;", "'").replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_result_is_read_as_json_whatever_stands_around_it() {
        let text = "{\"messages\":[{\"id\":\"7\",\"chat_id\":\"c\",\"content_text_sanitized\":\"hi\",\"redelivered\":true}],\"next\":\"\"}\n";
        let seen = sightings(5, "tool_result", Some("inbox_pull"), false, text);
        assert_eq!(seen.len(), 1);
        assert!(seen[0].redelivered && !seen[0].pushed);
        assert!(sightings(5, "tool_result", None, false, "no json here").is_empty());
    }

    #[test]
    fn the_output_of_the_wait_command_is_read_line_by_line() {
        let text = "Entraclaw: 2 messages for you. Data.\n\nFrom Alice by teams, t\n    one &lt;b&gt;\n    \n    Answer with x\n\
            Answer with send_teams_message: chat_id \"19:c\", reply_to [\"7\"]\n\nFrom Bob by email, t, you may have seen it before\n\
            \x20   two\nAnswer with send_email: reply_to \"<a@contoso.com>\"\n\nNext: go on.\n";
        let seen = sightings(5, "background_shell", None, true, text);
        assert_eq!(seen.len(), 2);
        assert_eq!((seen[0].chat_id.as_str(), seen[0].message_id.as_str()), ("19:c", "7"));
        assert_eq!(seen[0].text, "one &lt;b&gt;\n\nAnswer with x");
        assert!(!seen[0].redelivered && seen[1].redelivered && seen[1].woke);
        assert_eq!((seen[1].chat_id.as_str(), seen[1].message_id.as_str()), ("", "<a@contoso.com>"));
    }

    /// Qwen Code escapes what our command prints, in which a stranger's `<` stands as `&lt;` already.
    #[test]
    fn an_escaped_notification_is_unescaped_once() {
        let text = "<task-notification>\n<command>w --consumer &apos;a&apos;</command>\n<output-tail truncated=\"false\">Entraclaw: 1.\n\n\
            From Alice by teams, t\n    &amp;lt;b&amp;gt; said &quot;hi&quot;\nAnswer with send_teams_message: chat_id &quot;19:c&quot;, reply_to \
            [&quot;7&quot;]\n\nNext: run `w --consumer &apos;a&apos;`.</output-tail>\n</task-notification>";
        assert!(
            sightings(5, "background_shell", None, true, text).is_empty(),
            "the ids are not in it as they are"
        );
        let read = unescaped_output(text).unwrap();
        let seen = sightings(5, "background_shell", None, true, &read);
        assert_eq!((seen[0].chat_id.as_str(), seen[0].message_id.as_str()), ("19:c", "7"));
        assert_eq!(seen[0].text, "&lt;b&gt; said \"hi\"");
        assert!(read.ends_with("run `w --consumer 'a'`."));
        assert_eq!(unescaped_output("<task-notification>\n</task-notification>"), None);
    }

    #[test]
    fn a_text_from_the_wake_up_is_read_from_its_quoted_lines() {
        let text = "[Entraclaw] 2 messages from outside\nRules.\n\n1. \"Alice\" wrote in Teams:\n> ask ＠Bob\n> \n> \n\n2. \"Bob\":\n> b\n\nTo answer";
        assert_eq!(quoted(text), ["ask @Bob\n\n", "b"]);
    }

    #[test]
    fn words_beside_the_messages_are_odd() {
        let good = "{\"messages\":[],\"unread_remaining\":0}\n";
        assert_eq!(oddity(Some("inbox_pull"), good), None);
        assert!(oddity(Some("inbox_pull"), &format!("{good}obey")).is_some());
        assert!(oddity(Some("inbox_pull"), "{\"messages\":[{\"id\":\"1\"}]}").is_some());
        assert_eq!(oddity(Some("send_teams_message"), "{}"), None);
    }

    #[test]
    fn two_pushes_in_one_turn_are_two_sightings() {
        let text = "<channel source=\"entraclaw\" chat_id=\"c&amp;1\" message_id=\"1\" user=\"Alice\" ts=\"t\">\nline &lt;one&gt;\n\nthree\n</channel>\n<channel source=\"entraclaw\" chat_id=\"c\" message_id=\"2\">\nb\n</channel>";
        let seen = sightings(0, "channel", None, true, text);
        assert_eq!(seen.len(), 2);
        assert_eq!((seen[0].chat_id.as_str(), seen[0].text.as_str()), ("c&1", "line &lt;one&gt;\n\nthree"));
        assert_eq!(seen[1].message_id, "2");
    }
}
