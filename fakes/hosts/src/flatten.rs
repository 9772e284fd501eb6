//! Turns a `tools/call` result into the text that the model of a host is shown. It is a pure function of the
//! profile and the result; it saves no file and only names the path that a host would use.

use host_profiles::{SizeUnit, Structured, Texts};
use serde_json::Value;

use super::wire::fill;

/// Most content blocks that are read; the rest is left out.
const BLOCKS_MAX: usize = 10_000;

/// The origin of a result.
#[derive(Debug, Clone, Copy)]
pub struct Origin<'a> {
    /// The server's name in the host's configuration.
    pub server: &'a str,
    /// The tool, by the server's name.
    pub tool: &'a str,
    /// The tool's `_meta`.
    pub tool_meta: &'a Value,
    /// The path at which the host would save a copy.
    pub path: &'a str,
}

/// The text that the model is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The text.
    pub text: String,
    /// Whether it is marked as an error.
    pub is_error: bool,
}

/// The text of a result for the model, without any limit of size.
pub fn whole(texts: &Texts, origin: Origin<'_>, result: &Value) -> Shown {
    let shown = |text: String, is_error| Shown { text, is_error };
    let is_error = result.get("isError") == Some(&Value::Bool(true));
    let empty = Vec::new();
    let content = match result.get("content") {
        Some(Value::Array(content)) => content,
        None if result.is_object() && !*texts.content_required => &empty,
        _ => return shown(fill_for(&texts.invalid, origin, ""), true),
    };
    let mut blocks = Vec::new();
    for block in content.iter().take(BLOCKS_MAX) {
        match one_block(texts, origin, block) {
            Some(text) => blocks.push(text),
            None => return shown(fill_for(&texts.invalid, origin, ""), true),
        }
    }
    if is_error {
        let shown_max =
            texts.error_blocks_max.map_or(BLOCKS_MAX, |max| usize::try_from(max).unwrap_or(BLOCKS_MAX));
        let spoken: Vec<&str> =
            content.iter().take(BLOCKS_MAX).filter_map(plain_text).take(shown_max).collect();
        let text = if spoken.is_empty() {
            texts.error_empty.value.clone()
        } else {
            spoken.join(&texts.error_separator)
        };
        return shown(format!("{}{text}", fill_for(&texts.error_prefix, origin, "")), true);
    }
    let text = blocks.join(&texts.block_separator);
    match (result.get("structuredContent"), *texts.structured) {
        (Some(data), Structured::Replaces) => return shown(data.to_string(), false),
        (Some(data), Structured::WhenAlone) if content.is_empty() => return shown(data.to_string(), false),
        (Some(data), Structured::Appended) => {
            let text = if text.is_empty() {
                data.to_string()
            } else {
                format!("{text}{}{data}", *texts.structured_separator)
            };
            return shown(text, false);
        }
        _ => {}
    }
    if content.is_empty() {
        return shown(fill_for(&texts.empty, origin, ""), false);
    }
    shown(text, false)
}

/// Whether a result has a `content` that is no array of blocks.
pub(crate) fn is_malformed(texts: &Texts, result: &Value) -> bool {
    let origin = Origin { server: "", tool: "", tool_meta: &Value::Null, path: "" };
    match result.get("content") {
        None => false,
        Some(Value::Array(blocks)) => {
            blocks.iter().take(BLOCKS_MAX).any(|block| one_block(texts, origin, block).is_none())
        }
        Some(_) => true,
    }
}

/// A result that the host refuses.
pub(crate) fn refused(texts: &Texts, origin: Origin<'_>) -> Shown {
    Shown { text: fill_for(&texts.invalid, origin, ""), is_error: true }
}

/// The text of a result for the model, cut or replaced if it is too large for the host.
pub fn result(texts: &Texts, origin: Origin<'_>, result: &Value) -> Shown {
    let Shown { text, is_error } = whole(texts, origin, result);
    let size = match *texts.size_unit {
        SizeUnit::Characters => text.chars().count(),
        SizeUnit::Bytes => text.len(),
    };
    let size = u64::try_from(size).unwrap_or(u64::MAX);
    let raised = texts
        .size_key
        .as_ref()
        .and_then(|key| origin.tool_meta.get(key))
        .and_then(Value::as_u64)
        .map(|wish| wish.min(*texts.size_key_max));
    let whole_max = raised.map_or(*texts.whole_max, |wish| wish.max(*texts.whole_max));
    if size <= whole_max {
        return Shown { text: fill(&texts.frame, &[("text", &text)]), is_error };
    }
    let refused = texts.refused_from.is_some_and(|from| size >= from);
    let template = if refused { &texts.beyond_refused } else { &texts.beyond_whole };
    let preview_end = usize::try_from(*texts.preview_characters)
        .ok()
        .and_then(|max| text.char_indices().nth(max))
        .map_or(text.len(), |(end, _)| end);
    let tail_start = usize::try_from(*texts.tail_characters)
        .ok()
        .and_then(|max| text.char_indices().rev().take(max).last())
        .map_or(text.len(), |(start, _)| start);
    let text = fill(
        template,
        &[
            ("server", origin.server),
            ("tool", origin.tool),
            ("path", origin.path),
            ("size", &size.to_string()),
            ("preview", &text[..preview_end]),
            ("tail", &text[tail_start..]),
        ],
    );
    Shown { text: fill(&texts.frame, &[("text", &text)]), is_error }
}

/// Fills a template with the names of a result's origin.
pub(crate) fn fill_for(template: &str, origin: Origin<'_>, message: &str) -> String {
    fill(
        template,
        &[("server", origin.server), ("tool", origin.tool), ("path", origin.path), ("message", message)],
    )
}

fn plain_text(block: &Value) -> Option<&str> {
    (block.get("type")?.as_str()? == "text").then(|| block.get("text")?.as_str()).flatten()
}

/// The text of one block; `None` if the host refuses the whole result.
fn one_block(texts: &Texts, origin: Origin<'_>, block: &Value) -> Option<String> {
    let member = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default();
    match block.get("type")?.as_str()? {
        "text" => Some(fill(&texts.text, &[("text", block.get("text")?.as_str()?)])),
        "image" => Some(fill_for(&texts.image, origin, "")),
        "audio" => Some(fill_for(&texts.audio, origin, "")),
        "resource_link" => Some(fill(
            &texts.resource_link,
            &[
                ("name", member("name")),
                ("uri", member("uri")),
                ("description", member("description")),
                ("json", &block.to_string()),
            ],
        )),
        "resource" => {
            let resource = block.get("resource")?;
            let uri = resource.get("uri").and_then(Value::as_str)?;
            match resource.get("text").and_then(Value::as_str) {
                Some(text) => Some(fill(
                    &texts.embedded_text,
                    &[("server", origin.server), ("uri", uri), ("text", text), ("json", &block.to_string())],
                )),
                None => Some(fill(
                    &texts.embedded_blob,
                    &[
                        ("server", origin.server),
                        ("uri", uri),
                        ("path", origin.path),
                        ("json", &block.to_string()),
                    ],
                )),
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile;
    use rstest::rstest;
    use serde_json::json;

    fn shown(host: &str, meta: &Value, data: &Value) -> Shown {
        let profile = profile(host).unwrap();
        let origin = Origin { server: "S", tool: "t", tool_meta: meta, path: "/tmp/saved.txt" };
        result(&profile.texts, origin, data)
    }

    const CLAUDE: &str = "claude-code@2.1.330";
    const COPILOT: &str = "copilot-cli@1.0.102";
    const CODEX: &str = "codex@0.169.0";
    const OPENCODE: &str = "opencode@1.18.33";
    const GEMINI: &str = "gemini-cli@0.61.0";
    const QWEN: &str = "qwen-code@0.24.4";

    #[rstest]
    #[case::claude_structured_replaces(CLAUDE, json!({"content":[{"type":"text","text":"a"}],"structuredContent":{"b":1}}), "{\"b\":1}", false)]
    #[case::copilot_structured_follows(COPILOT, json!({"content":[{"type":"text","text":"a"}],"structuredContent":{"b":1}}), "a\n\n{\"b\":1}", false)]
    #[case::copilot_structured_alone(COPILOT, json!({"content":[],"structuredContent":{"b":1}}), "{\"b\":1}", false)]
    #[case::copilot_parts_touch(COPILOT, json!({"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}), "ab", false)]
    #[case::claude_error_joined(CLAUDE, json!({"isError":true,"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}), "a\nb", true)]
    #[case::claude_error_empty(CLAUDE, json!({"isError":true,"content":[]}), "Unknown error", true)]
    #[case::copilot_error_prefix(COPILOT, json!({"isError":true,"content":[{"type":"text","text":"a"}]}), "MCP server 'S': a", true)]
    #[case::claude_link(CLAUDE, json!({"content":[{"type":"resource_link","uri":"x://l","name":"L","description":"D"}]}), "[Resource link: L] x://l (D)", false)]
    #[case::copilot_link_is_lost(COPILOT, json!({"content":[{"type":"resource_link","uri":"x://l","name":"L"}]}), "", false)]
    #[case::claude_embedded(CLAUDE, json!({"content":[{"type":"resource","resource":{"uri":"x://e","text":"T"}}]}), "[Resource from S at x://e] T", false)]
    #[case::copilot_embedded(COPILOT, json!({"content":[{"type":"resource","resource":{"uri":"x://e","text":"T"}}]}), "T", false)]
    #[case::codex_structured_replaces(CODEX, json!({"content":[{"type":"text","text":"a"}],"structuredContent":{"b":1}}), "Wall time: 0.0 seconds\nOutput:\n{\"b\":1}", false)]
    #[case::codex_link_as_json(CODEX, json!({"content":[{"type":"resource_link","uri":"x://l","name":"L"}]}), "Wall time: 0.0 seconds\nOutput:\n{\"type\":\"resource_link\",\"uri\":\"x://l\",\"name\":\"L\"}", false)]
    #[case::opencode_content_wins(OPENCODE, json!({"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"structuredContent":{"b":1}}), "a\n\nb", false)]
    #[case::opencode_structured_alone(OPENCODE, json!({"content":[],"structuredContent":{"b":1}}), "{\"b\":1}", false)]
    #[case::gemini_wraps_text(GEMINI, json!({"content":[{"type":"text","text":"{text}"}],"structuredContent":{"b":1}}), "<untrusted_context>\n{text}\n</untrusted_context>", false)]
    #[case::gemini_drops_structured(GEMINI, json!({"content":[],"structuredContent":{"b":1}}), "", false)]
    #[case::qwen_shows_both(QWEN, json!({"content":[{"type":"text","text":"a"}],"structuredContent":{"b":1}}), "a\n{\"b\":1}", false)]
    fn results_are_shown_as_the_host_shows_them(
        #[case] host: &str,
        #[case] data: Value,
        #[case] text: &str,
        #[case] is_error: bool,
    ) {
        let got = shown(host, &Value::Null, &data);
        assert_eq!((got.text.as_str(), got.is_error), (text, is_error));
    }

    #[rstest]
    #[case::text_only("copilot-cli@0.0.384", "a")]
    #[case::structured_only("copilot-cli@0.0.401", "{\"b\":1}")]
    #[case::structured_only_still("copilot-cli@1.0.50", "{\"b\":1}")]
    #[case::both("copilot-cli@1.0.60", "a\n\n{\"b\":1}")]
    #[case::claude_always("claude-code@2.0.73", "{\"b\":1}")]
    fn text_beside_structured_content_is_shown_as_by_that_version(#[case] host: &str, #[case] text: &str) {
        let data = json!({"content":[{"type":"text","text":"a"}],"structuredContent":{"b":1}});
        assert_eq!(shown(host, &Value::Null, &data).text, text);
    }

    #[rstest]
    #[case::first_block("claude-code@2.0.73", "a")]
    #[case::first_block_still("claude-code@2.1.80", "a")]
    #[case::joined("claude-code@2.1.148", "a\nb")]
    #[case::no_prefix("copilot-cli@0.0.411", "ab")]
    #[case::prefix("copilot-cli@0.0.420", "MCP server 'S': ab")]
    fn an_error_of_two_blocks_is_shown_as_by_that_version(#[case] host: &str, #[case] text: &str) {
        let data = json!({"isError":true,"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]});
        assert_eq!(shown(host, &Value::Null, &data).text, text);
    }

    #[rstest]
    #[case(CLAUDE)]
    #[case(COPILOT)]
    fn an_unknown_block_is_an_error(#[case] host: &str) {
        let data = json!({"content":[{"type":"hologram","data":"x"}]});
        assert!(shown(host, &Value::Null, &data).is_error);
    }

    #[test]
    fn only_copilot_refuses_a_result_without_content() {
        let data = json!({"nothing": true});
        assert!(!shown(CLAUDE, &Value::Null, &data).is_error);
        assert!(shown(COPILOT, &Value::Null, &data).is_error);
    }

    fn text(size: usize) -> Value {
        json!({"content": [{"type": "text", "text": "x".repeat(size)}]})
    }

    #[rstest]
    #[case::claude_whole(CLAUDE, 49_000, 49_000..=49_000)]
    #[case::claude_preview(CLAUDE, 60_000, 2_000..=2_600)]
    #[case::claude_refused(CLAUDE, 100_000, 100..=1_500)]
    #[case::claude_refused_more(CLAUDE, 1_000_000, 100..=1_500)]
    #[case::copilot_whole(COPILOT, 20_000, 20_000..=20_000)]
    #[case::copilot_preview(COPILOT, 30_000, 500..=900)]
    #[case::codex_whole(CODEX, 8_000, 8_000..=8_100)]
    #[case::codex_middle_cut(CODEX, 20_000, 12_000..=12_200)]
    #[case::opencode_whole(OPENCODE, 45_000, 45_000..=45_000)]
    #[case::opencode_cut(OPENCODE, 60_000, 51_000..=51_500)]
    #[case::gemini_whole(GEMINI, 20_000, 20_000..=20_100)]
    #[case::gemini_middle_cut(GEMINI, 45_000, 40_000..=40_200)]
    #[case::qwen_preview(QWEN, 45_000, 2_000..=2_300)]
    #[case::oldest_copilot_whole("copilot-cli@0.0.384", 1_000_000, 1_000_000..=1_000_000)]
    #[case::older_copilot_whole("copilot-cli@0.0.401", 30_000, 30_000..=30_000)]
    #[case::older_copilot_preview("copilot-cli@0.0.411", 50_000, 500..=900)]
    #[case::one_copilot_drops_the_middle("copilot-cli@0.0.420", 20_000, 10_000..=10_100)]
    #[case::next_copilot_preview("copilot-cli@1.0.0", 30_000, 500..=900)]
    #[case::oldest_claude_whole("claude-code@2.0.73", 60_000, 60_000..=60_000)]
    #[case::older_claude_preview("claude-code@2.1.80", 60_000, 2_000..=2_600)]
    #[case::copilot_preview_more(COPILOT, 1_000_000, 500..=900)]
    fn large_results_are_cut_where_the_host_cuts(
        #[case] host: &str,
        #[case] size: usize,
        #[case] shown_size: std::ops::RangeInclusive<usize>,
    ) {
        let got = shown(host, &Value::Null, &text(size)).text.len();
        assert!(shown_size.contains(&got), "{got}");
    }

    #[test]
    fn a_tool_can_raise_the_limit_of_claude_to_a_ceiling() {
        let meta = json!({"anthropic/maxResultSizeChars": 900_000});
        assert_eq!(shown(CLAUDE, &meta, &text(120_000)).text.len(), 120_000);
        assert!(shown(CLAUDE, &meta, &text(600_000)).text.len() < 3_000);
    }
}
