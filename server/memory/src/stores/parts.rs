//! Texts within JSON whose form differs from agent to agent.
//!
//! It must never follow a value deeper than its bound.

use serde_json::Value;

/// Depth to which texts are looked for.
const DEPTH_MAX: usize = 8;

/// The texts of a value in their order, one a line: a text itself, the members of objects, the items of lists.
pub(super) fn words(value: &Value) -> String {
    let mut out = String::new();
    collect(value, 0, &mut out);
    out
}

fn collect(value: &Value, depth: usize, out: &mut String) {
    if depth > DEPTH_MAX {
        return;
    }
    match value {
        Value::String(text) if !text.is_empty() => {
            if !out.is_empty() {
                out.push('\n');
            }
            out.push_str(text);
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, depth + 1, out)),
        Value::Object(members) => members.values().for_each(|member| collect(member, depth + 1, out)),
        _ => {}
    }
}

/// The text of a content that is a text, or a list of parts `{"text": …}`.
pub(super) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part.as_str().or_else(|| part.get("text")?.as_str()));
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Object(_) => content.get("text").and_then(Value::as_str).unwrap_or_default().to_owned(),
        _ => String::new(),
    }
}

/// Whether a user's text was put there by the agent's program, by the tag it begins with. They are recorded from Claude
/// Code 2.1.330, Codex 0.169.0 and Gemini CLI 0.61.0; the tags of commands are those that Claude Code puts around them.
pub(super) fn is_by_program(text: &str) -> bool {
    const TAGS: [&str; 9] = [
        "<environment_context>",
        "<user_instructions>",
        "<permissions instructions>",
        "<session_context>",
        "<system-reminder>",
        "<local-command-",
        "<command-name>",
        "<command-message>",
        "# AGENTS.md instructions",
    ];
    let text = text.trim_start();
    TAGS.iter().any(|tag| text.starts_with(tag))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_are_found_in_every_form() {
        assert_eq!(text_of(&json!("a")), "a");
        assert_eq!(text_of(&json!([{"text": "a"}, "b", {"image": "c"}])), "a\nb");
        assert_eq!(text_of(&json!(7)), "");
        assert_eq!(words(&json!({"command": "ls", "n": 1, "more": ["a", {"b": "c"}]})), "ls\na\nc");
        let deep = (0..100).fold(json!("lost"), |inner, _| json!([inner]));
        assert_eq!(words(&deep), "");
    }
    #[test]
    fn texts_are_found_down_to_a_depth_whatever_they_are_in() {
        for is_list in [true, false] {
            let within = |inner: Value| if is_list { json!([inner]) } else { json!({"a": inner}) };
            let deep = |depth: usize| (0..depth).fold(json!("here"), |inner, _| within(inner));
            assert_eq!(words(&deep(DEPTH_MAX)), "here");
            assert_eq!(words(&deep(DEPTH_MAX + 1)), "");
        }
        assert_eq!(words(&json!(["", "a", null, true, "", "b"])), "a\nb");
        assert_eq!(text_of(&json!({"text": "a"})), "a");
        assert_eq!(text_of(&json!({"image": "a"})), "");
    }

    #[test]
    fn what_the_program_adds_is_told_by_the_tag_that_it_begins_with() {
        for (text, is_added) in [
            ("<environment_context>a", true),
            ("\n <system-reminder>a", true),
            ("<local-command-stdout>a", true),
            ("# AGENTS.md instructions for /p", true),
            ("<environment>a", false),
            ("What is <system-reminder>?", false),
            ("", false),
        ] {
            assert_eq!(is_by_program(text), is_added, "{text}");
        }
    }
}
