//! A consumer's name. A consumer reads the journal with a cursor of its own.
//!
//! It becomes a part of file names, so it must never hold any other character.

use std::fmt;

use super::error::JournalError;

const NAME_CHARS_MAX: usize = 64;

/// The consumer of a terminal that watches; it belongs to no agent.
pub const WATCHER: &str = "watch-cli";

/// A consumer's name: 1 to 64 of `a-z`, `0-9`, `.`, `_`, `-`, beginning with a letter or digit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConsumerName(String);

impl ConsumerName {
    /// Takes a name after a check of its shape.
    pub fn new(name: &str) -> Result<Self, JournalError> {
        let begins = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
        let shaped = name.chars().all(|c| matches!(c, 'a'..='z' | '0'..='9' | '.' | '_' | '-'));
        if begins && shaped && name.len() <= NAME_CHARS_MAX {
            Ok(Self(name.to_owned()))
        } else {
            Err(JournalError::ConsumerName { name: name.chars().take(NAME_CHARS_MAX).collect() })
        }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ConsumerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::str::FromStr for ConsumerName {
    type Err = JournalError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::new(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("claude-code", true)]
    #[case("a", true)]
    #[case("0.9_x-y", true)]
    #[case("", false)]
    #[case("..", false)]
    #[case(".hidden", false)]
    #[case("-flag", false)]
    #[case("Claude", false)]
    #[case("a/b", false)]
    #[case("a b", false)]
    #[case("é", false)]
    fn names(#[case] name: &str, #[case] good: bool) {
        assert_eq!(ConsumerName::new(name).is_ok(), good, "{name:?}");
    }

    #[test]
    fn a_name_has_at_most_64_characters() {
        assert!(ConsumerName::new(&"a".repeat(64)).is_ok());
        let error = ConsumerName::new(&"a".repeat(65)).unwrap_err().to_string();
        assert!(error.contains("1 to 64"), "{error}");
    }
}
