//! The content that setup puts into one file, and the changes that it made, as data for a receipt.
//!
//! It must never contain text of a person, except a setting that a removal gives back.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The names of members from the root of a document to one of its values.
pub type Path = Vec<String>;

/// The content of one file for one host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Changes to JSON, which may have comments and trailing commas.
    Json(Vec<Edit>),
    /// One table of TOML that is wholly ours.
    Table {
        /// Where it stands.
        path: Path,
        /// Its values: texts, lists of texts, and tables of texts.
        entry: Value,
    },
    /// A section of a text for models, between markers.
    Section(String),
    /// A file that is wholly ours.
    Whole(String),
}

/// One change to JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Edit {
    /// A member whose value is wholly ours.
    Member {
        /// Where it stands.
        path: Path,
        /// Its value, an object.
        value: Value,
    },
    /// An element of a list that others fill too.
    Element {
        /// The list.
        path: Path,
        /// The element.
        value: Value,
    },
    /// A setting of the host's that must have this value.
    Setting {
        /// Where it stands.
        path: Path,
        /// Its value, a scalar or a list.
        value: Value,
    },
}

/// A change to a text, which can be undone even after other changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// A text without a value got an object; this is the text before.
    Root(String),
    /// A container was made for our content.
    Made {
        /// Where it stands.
        path: Path,
        /// Whether an empty `{}` around it was opened to several lines.
        opened: bool,
    },
    /// A member was added.
    Added {
        /// Where it stands.
        path: Path,
        /// Its value.
        value: Value,
        /// Whether it is ours even if another program has changed it.
        whole: bool,
        /// Whether an empty `{}` around it was opened to several lines.
        opened: bool,
    },
    /// A value was replaced.
    Replaced {
        /// Where it stands.
        path: Path,
        /// The text of the value before.
        before: String,
        /// The value since.
        after: Value,
    },
    /// An element was added to a list.
    Pushed {
        /// The list.
        path: Path,
        /// The element.
        value: Value,
        /// Whether an empty `[]` was opened to several lines.
        opened: bool,
    },
    /// A block of text was added.
    Block {
        /// What parts it from the text above.
        before: String,
        /// The block, with its last line's end.
        text: String,
    },
    /// A table of TOML was changed.
    Table {
        /// Where it stands.
        path: Path,
        /// Its values before.
        before: Value,
        /// Its values since.
        after: Value,
    },
}

/// The reason why a file is not changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The problem and the fix, in lower case.
    pub what: String,
    /// The line and column, counted from 1.
    pub at: Option<(usize, usize)>,
}

impl Problem {
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), at: None }
    }

    /// A problem at a byte of the text.
    pub(super) fn at(text: &str, byte: usize, what: impl Into<String>) -> Self {
        let before = text.get(..byte).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        Self { what: what.into(), at: Some((line, column)) }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            Some((line, column)) => write!(f, "line {line}, column {column}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

/// Whether an entry of a server starts this program, whether setup or a person wrote it.
pub(super) fn runs_entraclaw(entry: &Value) -> bool {
    let command = entry.get("command");
    let words: Vec<&str> = match command {
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(program)) => {
            let arguments = entry.get("args").and_then(Value::as_array).into_iter().flatten();
            std::iter::once(program.as_str()).chain(arguments.filter_map(Value::as_str)).collect()
        }
        _ => return false,
    };
    let Some((program, arguments)) = words.split_first() else { return false };
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    (name == "entraclaw" || name.eq_ignore_ascii_case("entraclaw.exe")) && arguments.contains(&"serve")
}

/// The line ending of the text.
pub(super) fn newline(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}
