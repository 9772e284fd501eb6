//! What is said about one message.
//! A verdict never quotes more than a short piece of the message, which may be private.

use serde::Serialize;

use crate::rules::Rule;

/// Errors told about one message; the rest is only counted.
pub(crate) const ERRORS_MAX: usize = 16;
/// Characters of one error text.
const MESSAGE_CHARS_MAX: usize = 300;

/// Whether one message keeps the protocol, and if not, why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// No error was found.
    pub valid: bool,
    /// The definition that it was held to, named as in the specification; empty when it is no message at all.
    pub definition: &'static str,
    /// What is wrong, first things first; at most 16 are told.
    pub errors: Vec<WireError>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WireError {
    /// Where in the message: a JSON pointer, empty for the message itself.
    pub path: String,
    /// What is wrong there.
    pub message: String,
    /// `schema`, or the id of one of [`crate::rules`].
    pub rule: &'static str,
}

impl WireError {
    pub(crate) fn new(path: impl Into<String>, message: impl Into<String>, rule: &'static str) -> Self {
        let mut message = message.into();
        if let Some((at, _)) = message.char_indices().nth(MESSAGE_CHARS_MAX) {
            message.truncate(at);
            message.push('…');
        }
        Self { path: path.into(), message, rule }
    }
}

/// Gathers the findings about one message.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) definition: &'static str,
    pub(crate) errors: Vec<WireError>,
}

impl Findings {
    /// Notes that a hand-written rule is broken; the place is the message in its batch, and what lies below it.
    pub(crate) fn breaks(&mut self, rule: &'static Rule, place: (&str, &str), message: impl Into<String>) {
        let (at, below) = place;
        self.push(WireError::new(format!("{at}{below}"), message, rule.id));
    }

    pub(crate) fn push(&mut self, error: WireError) {
        if self.errors.len() < ERRORS_MAX {
            self.errors.push(error);
        }
    }

    pub(crate) fn verdict(self) -> Verdict {
        Verdict { valid: self.errors.is_empty(), definition: self.definition, errors: self.errors }
    }
}
