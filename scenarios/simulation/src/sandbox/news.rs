//! Events of the sandbox, one line each for the terminal.
//! It must never hold a token, and no text in it may drive a terminal.

use std::fmt;

use entraclaw_sanitize::clean_line;

/// Longest text of a message that a line shows, in characters.
const TEXT_CHARS_MAX: usize = 80;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum News {
    /// A person did something on the page.
    Person {
        /// The author.
        who: String,
        /// The action, as a verb with its place: `writes in Group`.
        does: String,
        /// The text; empty when there is none.
        text: String,
    },
    /// A server asks for the first time, or again after a pause.
    Polls,
    /// No server has asked for a while.
    Silent,
    /// A server asks with a token that is not the sandbox's.
    Refused,
    /// The server has read a message.
    Read {
        /// Whose.
        who: String,
        /// The place.
        place: String,
    },
    /// The agent wrote.
    Agent {
        /// The action, as a verb with its place.
        does: String,
        /// The text.
        text: String,
    },
}

impl fmt::Display for News {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Person { who, does, text } => write!(formatter, "{who} {does}{}", quoted(text)),
            Self::Polls => formatter.write_str("a server asks for messages"),
            Self::Silent => formatter.write_str("no server asks any more"),
            Self::Refused => formatter
                .write_str("a server asks with another token: take the command that was printed by this run"),
            Self::Read { who, place } => write!(formatter, "the server has read {who}'s message ({place})"),
            Self::Agent { does, text } => write!(formatter, "the agent {does}{}", quoted(text)),
        }
    }
}

fn quoted(text: &str) -> String {
    let line = clean_line(text);
    if line.is_empty() {
        return String::new();
    }
    let mut shown: String = line.chars().take(TEXT_CHARS_MAX).collect();
    if shown.len() < line.len() {
        shown.push('…');
    }
    format!(": {shown}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_text_stays_one_short_line() {
        let text = format!("\u{1b}[2Jfirst\r\nsecond\u{7} {}", "x".repeat(200));
        let line = News::Agent { does: "writes to Alice".to_owned(), text }.to_string();
        assert!(line.starts_with("the agent writes to Alice: first second x"), "{line}");
        assert!(line.chars().count() < 120 && !line.contains(char::is_control), "{line:?}");
    }
}
