//! Who speaks to the engine: the person at the project, or a host by its name.
//!
//! It must never let a host take the person's name.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The label of the person.
const YOU: &str = "you";
/// The name of a host that gives none.
const UNNAMED: &str = "host";
/// Longest name of a host, in characters.
const NAME_CHARS_MAX: usize = 40;

/// Who asks for a task.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub enum Source {
    /// The person at the project.
    You,
    /// A host, by the name of its program.
    Host(String),
}

impl Source {
    /// A host by the name that it gives. What is not a letter, digit, dot or dash becomes a dash.
    pub fn host(name: &str) -> Self {
        let named = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        let name: String = name.trim().chars().take(NAME_CHARS_MAX).collect();
        let name: String =
            name.chars().map(|c| if named(c) { c.to_ascii_lowercase() } else { '-' }).collect();
        match name.trim_matches('-') {
            "" | YOU => Self::Host(UNNAMED.to_owned()),
            name => Self::Host(name.to_owned()),
        }
    }

    /// The name, as it is stored and told.
    pub fn as_str(&self) -> &str {
        match self {
            Self::You => YOU,
            Self::Host(name) => name,
        }
    }

    /// Whether it is the person.
    pub fn is_person(&self) -> bool {
        *self == Self::You
    }
}

impl From<String> for Source {
    fn from(name: String) -> Self {
        if name == YOU { Self::You } else { Self::host(&name) }
    }
}

impl From<Source> for String {
    fn from(source: Source) -> Self {
        source.as_str().to_owned()
    }
}

/// Shown as `[you]` or `[claude-code]`.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}]", self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_can_not_be_the_person_nor_break_the_label() {
        assert_eq!(Source::host("claude-code").to_string(), "[claude-code]");
        assert_eq!(Source::host("You").to_string(), "[host]");
        assert_eq!(Source::host("  ").to_string(), "[host]");
        assert_eq!(Source::host("a] [you\n").to_string(), "[a---you]");
        assert_eq!(Source::host(&"x".repeat(500)).as_str().len(), NAME_CHARS_MAX);
    }

    #[test]
    fn a_source_reads_as_it_was_written() {
        for source in [Source::You, Source::host("codex")] {
            assert_eq!(Source::from(String::from(source.clone())), source);
        }
    }
}
