//! The texts about a server that the model of a host sees: tool names, descriptions, instructions. On the
//! wire the server's own names are used.

use host_profiles::{Names, Overlong, Schemas, ToolsShown};
use serde_json::Value;

use super::schema;
use super::wire::fill;

/// A tool as the host remembers it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tool {
    /// The server's name.
    pub name: String,
    /// The model's name.
    pub shown_name: String,
    /// Whether `annotations.readOnlyHint` is true.
    pub read_only: bool,
    /// Whether it runs as a task only.
    pub task_only: bool,
    /// Whether it has an output schema, and so promises structured content.
    pub promises_output: bool,
    /// The description for the model; `None` if it sees only the name.
    pub description: Option<String>,
    /// The tool's `_meta`.
    pub meta: Value,
}

/// Reads one item of a `tools/list` result. `None` if it has no name, or a name or a schema because of which
/// the host leaves it out.
pub(crate) fn tool(names: &Names, schemas: &Schemas, server: &str, item: &Value) -> Option<Tool> {
    let name = item.get("name")?.as_str()?;
    if schema::is_dropped(schemas, item) {
        return None;
    }
    let meta = item.get("_meta").cloned().unwrap_or_default();
    let loaded = *names.shown == ToolsShown::Whole
        || names.always_load_key.as_ref().is_some_and(|key| meta.get(key) == Some(&Value::Bool(true)));
    Some(Tool {
        name: name.to_owned(),
        shown_name: shown_name(names, server, name)?,
        read_only: item.pointer("/annotations/readOnlyHint") == Some(&Value::Bool(true)),
        task_only: schema::is_task_only(item),
        promises_output: item.get("outputSchema").is_some_and(Value::is_object),
        description: loaded.then(|| {
            let text = item.get("description").and_then(Value::as_str);
            cut(names, text.unwrap_or_default())
        }),
        meta,
    })
}

/// The model's name of a tool; `None` if the host leaves the tool out.
pub fn shown_name(names: &Names, server: &str, tool: &str) -> Option<String> {
    let mut name = fill(&names.tool, &[("server", &plain(names, server)), ("tool", &plain(names, tool))]);
    let max = usize::try_from(*names.max).unwrap_or(usize::MAX);
    if name.chars().count() > max {
        match *names.overlong {
            Overlong::Drop => return None,
            Overlong::Cut => name = name.chars().take(max).collect(),
            Overlong::CutMiddle => name = without_middle(&name, max),
        }
    }
    Some(name)
}

/// The first and last characters of a name, with three dots between them.
fn without_middle(name: &str, max: usize) -> String {
    const DOTS: &str = "...";
    let kept = max.saturating_sub(DOTS.len());
    let (head, tail) = (kept.div_ceil(2), kept / 2);
    let count = name.chars().count();
    let start: String = name.chars().take(head).collect();
    let end: String = name.chars().skip(count.saturating_sub(tail)).collect();
    format!("{start}{DOTS}{end}")
}

fn plain(names: &Names, text: &str) -> String {
    if *names.punycode
        && !text.is_ascii()
        && let Some(code) = idna::punycode::encode_str(text)
    {
        return format!("xn--{}", replace(names, &code));
    }
    replace(names, text)
}

fn replace(names: &Names, text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii_alphanumeric() || names.kept.contains(character) {
            plain.push(character);
        } else {
            plain.push_str(&names.replacement);
        }
    }
    plain
}

/// A description or the instructions, as the model reads them.
pub fn cut(names: &Names, text: &str) -> String {
    let Some(max) = *names.description_max else {
        return text.to_owned();
    };
    let max = usize::try_from(max).unwrap_or(usize::MAX);
    match text.char_indices().nth(max) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}{}", &text[..end], *names.cut_mark),
    }
}

/// The text that lists the tools for the model, one a line.
pub(crate) fn listing<'a>(tools: impl Iterator<Item = &'a Tool>) -> String {
    let lines: Vec<String> = tools
        .map(|tool| match &tool.description {
            Some(description) => format!("{}: {description}", tool.shown_name),
            None => tool.shown_name.clone(),
        })
        .collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case("claude-code@2.1.330", "My srv.x", "dot.ted/na me:x", Some("mcp__My_srv_x__dot_ted_na_me_x"))]
    #[case(
        "codex@0.169.0",
        "my-srv",
        "dotted.name/with-odd_chars",
        Some("mcp__my_srv__dotted_name_with_odd_chars")
    )]
    #[case(
        "opencode@1.18.33",
        "tracer",
        "dotted.name/with-odd_chars",
        Some("tracer_dotted_name_with-odd_chars")
    )]
    #[case(
        "gemini-cli@0.61.0",
        "tracer",
        "dotted.name/with-odd_chars",
        Some("mcp_tracer_dotted.name_with-odd_chars")
    )]
    #[case("copilot-cli@1.0.24", "tracer", "dotted.name/x", Some("tracer-dotted.name/x"))]
    #[case("copilot-cli@1.0.102", "tracer", "dotted.name/x", Some("tracer-dotted-name-x"))]
    #[case("copilot-cli@1.0.102", "srv", "UPPER_x", Some("srv-UPPER_x"))]
    #[case("copilot-cli@1.0.102", "srv", "bücher", Some("srv-xn--bcher-kva"))]
    fn names_are_shown_as_the_host_shows_them(
        #[case] host: &str,
        #[case] server: &str,
        #[case] tool: &str,
        #[case] shown: Option<&str>,
    ) {
        let profile = profile(host).unwrap();
        assert_eq!(shown_name(&profile.names, server, tool).as_deref(), shown);
    }

    #[test]
    fn a_long_name_is_left_out_or_cut() {
        let long = "n".repeat(140);
        let claude = profile("claude-code@2.1.330").unwrap();
        assert_eq!(shown_name(&claude.names, "s", &long), None);
        let copilot = profile("copilot-cli@1.0.102").unwrap();
        assert_eq!(shown_name(&copilot.names, "s", &long).unwrap().len(), 64);
        let gemini = profile("gemini-cli@0.61.0").unwrap();
        let shown = shown_name(&gemini.names, "s", &format!("first{long}last")).unwrap();
        assert!(shown.len() == 63 && shown.starts_with("mcp_s_first") && shown.ends_with("nlast"), "{shown}");
        assert!(shown.contains("..."), "{shown}");
    }

    #[test]
    fn a_description_is_cut_at_the_limit_of_the_version() {
        let claude = profile("claude-code@2.1.330").unwrap();
        let text = cut(&claude.names, &"é".repeat(6000));
        assert!(text.starts_with(&"é".repeat(4096)) && text.chars().count() < 4150);
        let copilot = profile("copilot-cli@1.0.102").unwrap();
        assert_eq!(cut(&copilot.names, &"é".repeat(6000)).chars().count(), 6000);
    }

    #[test]
    fn only_an_always_loaded_tool_of_a_deferring_host_comes_with_its_description() {
        let claude = profile("claude-code@2.1.330").unwrap();
        let item = json!({"name": "a", "description": "does a"});
        assert_eq!(tool(&claude.names, &claude.schemas, "s", &item).unwrap().description, None);
        let item = json!({"name": "a", "description": "does a", "_meta": {"anthropic/alwaysLoad": true}});
        let loaded = tool(&claude.names, &claude.schemas, "s", &item).unwrap();
        assert_eq!(loaded.description.as_deref(), Some("does a"));
    }
}
