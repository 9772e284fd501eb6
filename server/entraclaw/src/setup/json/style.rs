//! The style of a text of JSON, so that additions look like the rest.

use jsonc_parser::ast::Value as Node;
use serde_json::Value;

use super::super::content::newline;

/// Longest indentation step that is accepted, in characters.
const INDENT_CHARS_MAX: usize = 8;

/// The style of a text.
pub(super) struct Style<'a> {
    pub(super) text: &'a str,
    pub(super) newline: &'static str,
    pub(super) indent: String,
    /// Whether everything is on one line.
    pub(super) is_compact: bool,
}

impl<'a> Style<'a> {
    pub(super) fn of(text: &'a str, root: Option<&Node<'_>>) -> Self {
        let first = match root {
            Some(Node::Object(root)) => root.properties.first().map(|member| member.range.start),
            _ => None,
        };
        let indent = first.and_then(|first| own_indent(text, first)).filter(|indent| !indent.is_empty());
        let indent = indent.filter(|indent| indent.len() <= INDENT_CHARS_MAX).unwrap_or("  ").to_owned();
        let is_compact = first.is_some() && !text.trim().contains('\n');
        Self { text, newline: newline(text), indent, is_compact }
    }

    /// A value in the style of a place in the text.
    pub(super) fn render_at(&self, at: usize, value: &Value) -> String {
        self.render(value, line_indent(self.text, at))
    }

    pub(super) fn render(&self, value: &Value, outer: &str) -> String {
        if self.is_compact {
            return value.to_string();
        }
        let mut out = Vec::new();
        let formatter = serde_json::ser::PrettyFormatter::with_indent(self.indent.as_bytes());
        let mut serializer = serde_json::Serializer::with_formatter(&mut out, formatter);
        let written = serde::Serialize::serialize(value, &mut serializer);
        let pretty =
            written.ok().and_then(|()| String::from_utf8(out).ok()).unwrap_or_else(|| value.to_string());
        pretty.replace('\n', &format!("{}{outer}", self.newline))
    }
}

/// The indentation of the line of a byte.
pub(super) fn line_indent(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let line = &text[start..at];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// The same, if only blanks are before the byte on its line.
pub(super) fn own_indent(text: &str, at: usize) -> Option<&str> {
    let start = text[..at].rfind('\n')? + 1;
    let before = &text[start..at];
    before.trim_matches([' ', '\t']).is_empty().then_some(before)
}
