//! How a tool tells of its end.

use std::path::Path;

use serde_json::{Map, Value};

use crate::tool::ToolOutcome;

/// The most text that a model is shown of one tool, in bytes.
pub(super) const TEXT_MAX: usize = 32 * 1024;

/// What failed, and what to do.
pub(super) fn failed(why: &str) -> ToolOutcome {
    ToolOutcome { text: cut(why), succeeded: false, shown: Map::new(), was_stopped: false }
}

/// What was done with a file.
pub(super) fn done(text: &str, path: &Path, lines: usize) -> ToolOutcome {
    let shown = [("path", Value::from(slashes(path))), ("lines", Value::from(lines))];
    ToolOutcome { text: cut(text), succeeded: true, shown: map(shown), was_stopped: false }
}

/// What was found.
pub(super) fn found(text: &str, lines: usize) -> ToolOutcome {
    ToolOutcome {
        text: cut(text),
        succeeded: true,
        shown: map([("lines", Value::from(lines))]),
        was_stopped: false,
    }
}

/// A tool that was stopped before its end.
pub(super) fn stopped() -> ToolOutcome {
    ToolOutcome { was_stopped: true, ..failed("stopped for the person; it will be run again") }
}

pub(super) fn map<const N: usize>(entries: [(&str, Value); N]) -> Map<String, Value> {
    entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// A path as models write it.
pub(super) fn slashes(path: &Path) -> String {
    path.display().to_string().replace('\\', "/")
}

/// The beginning and the end of a long text, with a line that says what is left out.
pub(super) fn cut(text: &str) -> String {
    if text.len() <= TEXT_MAX {
        return text.to_owned();
    }
    let head = boundary(text, TEXT_MAX / 2);
    let tail = boundary(text, text.len() - TEXT_MAX / 2);
    format!("{}\n[{} bytes left out here]\n{}", &text[..head], tail - head, &text[tail..])
}

/// The last place at or before another one where a text may be cut.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|place| text.is_char_boundary(*place)).unwrap_or(0)
}
