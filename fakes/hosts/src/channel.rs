//! Turns a channel notification into the text that the model of a channel host reads. It follows strings that
//! were read in the program; it never checks who may send.

use host_profiles::Channel;
use serde_json::Value;

/// The text for the model, and the attributes that were left out; or why the whole notification is refused.
pub(crate) fn text(facts: &Channel, server: &str, params: &Value) -> Result<(String, Vec<String>), String> {
    let content = params.get("content").and_then(Value::as_str).ok_or("params.content is not a string")?;
    let mut attributes = vec![(facts.source_attribute.as_str(), server)];
    let mut left_out = Vec::new();
    match params.get("meta") {
        None => {}
        Some(Value::Object(meta)) => {
            for (key, value) in meta {
                let value = value.as_str().ok_or_else(|| format!("params.meta.{key} is not a string"))?;
                if is_name(key) {
                    attributes.push((key, value));
                } else {
                    left_out.push(key.clone());
                }
            }
        }
        Some(_) => return Err("params.meta is not an object".to_owned()),
    }
    let tag = facts.tag.as_str();
    let mut text = format!("<{tag}");
    for (name, value) in attributes {
        text.extend([" ", name, "=\"", &escape(value), "\""]);
    }
    let content = if *facts.content_neutralised { neutralise(facts, content) } else { content.to_owned() };
    text.extend([">\n", &content, "\n</", tag, ">"]);
    Ok((text, left_out))
}

/// Whether a key matches `^[a-zA-Z_][a-zA-Z0-9_]*$`.
fn is_name(key: &str) -> bool {
    let mut characters = key.chars();
    characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|next| next.is_ascii_alphanumeric() || next == '_')
}

fn escape(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for character in value.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Escapes a bracket with a backslash if it would open or close the tag itself or a reserved one.
fn neutralise(facts: &Channel, content: &str) -> String {
    let mut text = String::with_capacity(content.len());
    let mut rest = content;
    while let Some(character) = rest.chars().next() {
        let (head, tail) = rest.split_at(character.len_utf8());
        text.push_str(head);
        let opens = character == '<' || facts.look_alike_brackets.iter().any(|bracket| bracket == head);
        if opens && names_a_tag(facts, tail) {
            text.push('\\');
        }
        rest = tail;
    }
    text
}

fn names_a_tag(facts: &Channel, tail: &str) -> bool {
    let tail = tail.trim_start();
    let tail = tail.strip_prefix('/').unwrap_or(tail).trim_start();
    std::iter::once(facts.tag.as_str()).chain(facts.reserved_tags.iter().map(String::as_str)).any(|name| {
        tail.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
            && tail
                .get(name.len()..)
                .and_then(|after| after.chars().next())
                .is_none_or(|next| !(next.is_alphanumeric() || next == '-' || next == '_'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile;
    use serde_json::json;

    fn shown(params: &Value) -> Result<(String, Vec<String>), String> {
        text(&profile("claude-code@seed").unwrap().channel, "claw", params)
    }

    #[test]
    fn attributes_are_escaped_and_bad_keys_left_out() {
        let params = json!({"content": "hi <b>", "meta": {"a": "x\"y<z>&'", "b-c": "2"}});
        let (text, left_out) = shown(&params).unwrap();
        assert_eq!(text, "<channel source=\"claw\" a=\"x&quot;y&lt;z&gt;&amp;&#39;\">\nhi <b>\n</channel>");
        assert_eq!(left_out, ["b-c"]);
    }

    #[test]
    fn a_closing_tag_in_the_content_is_neutralised() {
        let params = json!({"content": "a </channel> < / CHANNEL x ＜/channel> <channels>"});
        let (text, _) = shown(&params).unwrap();
        assert!(text.contains("a <\\/channel> <\\ / CHANNEL x ＜\\/channel> <channels>"), "{text}");
    }

    #[test]
    fn a_value_that_is_no_string_refuses_the_whole() {
        assert!(shown(&json!({"content": "a", "meta": {"n": 1}})).unwrap_err().contains("meta.n"));
        assert!(shown(&json!({"content": 1})).unwrap_err().contains("content"));
        assert!(shown(&json!({"content": "a", "meta": []})).is_err());
        assert!(shown(&Value::Null).is_err());
    }
}
