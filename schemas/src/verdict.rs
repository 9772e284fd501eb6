//! The verdict on one message. It never quotes more than a short piece of the message, which may be private.

use serde::Serialize;

use crate::rules::Rule;

/// Most errors of one message that are listed; the rest is only counted.
pub(crate) const ERRORS_MAX: usize = 16;
/// Most characters of one error text.
const MESSAGE_CHARS_MAX: usize = 300;

/// Whether one message keeps the protocol, and if not, why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// No error was found.
    pub valid: bool,
    /// The definition of the message, named as in the specification; empty if it is no message at all.
    pub definition: &'static str,
    /// The errors, in order; at most 16.
    pub errors: Vec<WireError>,
}

/// One error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WireError {
    /// The place in the message: a JSON pointer, empty for the message itself.
    pub path: String,
    /// The fault at that place.
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

/// Collects the errors of one message.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) definition: &'static str,
    pub(crate) errors: Vec<WireError>,
}

impl Findings {
    /// Adds an error by a hand-written rule; the place is the message in its batch, and the path below it.
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
