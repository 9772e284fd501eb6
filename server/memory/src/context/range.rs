//! Which part of a context file is read.
//!
//! It must never guess: a range that is not understood is an error, as a reader would take a part for the whole.

use std::str::FromStr;

/// A part of a context file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Range {
    /// The file as it is.
    #[default]
    All,
    /// What stands before the sessions, and so many of the last sessions, older ones outside the file included.
    LastSessions(usize),
}

impl FromStr for Range {
    type Err = String;

    /// Reads `all`, `last-session`, or `last-N-sessions`.
    fn from_str(text: &str) -> Result<Self, String> {
        let number = match text {
            "all" => return Ok(Self::All),
            "last-session" => Some(1),
            _ => text
                .strip_prefix("last-")
                .and_then(|rest| rest.strip_suffix("-sessions").or_else(|| rest.strip_suffix("-session")))
                .and_then(|number| number.parse().ok())
                .filter(|number| *number > 0),
        };
        number
            .map(Self::LastSessions)
            .ok_or_else(|| format!("the range {text:?} is unknown; write `last-5-sessions`, or `all`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("all", Some(Range::All))]
    #[case("last-5-sessions", Some(Range::LastSessions(5)))]
    #[case("last-1-session", Some(Range::LastSessions(1)))]
    #[case("last-session", Some(Range::LastSessions(1)))]
    #[case("last-0-sessions", None)]
    #[case("last-+-sessions", None)]
    #[case("first-5-sessions", None)]
    #[case("", None)]
    fn a_range_has_one_form(#[case] text: &str, #[case] range: Option<Range>) {
        assert_eq!(text.parse().ok(), range);
    }
}
