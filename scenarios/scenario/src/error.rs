//! A scenario that can't be used: where, what, and how to fix it.

use std::fmt;

pub(crate) use yaml::Place;

/// Rendered with file, line and a caret; the first line is the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioError {
    /// The whole text to show.
    pub rendered: String,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.rendered)
    }
}

impl std::error::Error for ScenarioError {}

impl ScenarioError {
    /// Frames `message` under the word at `place`; `help` says how to fix it.
    pub(crate) fn at(file: &str, source: &str, place: Place, message: &str, help: Option<&str>) -> Self {
        Self { rendered: yaml::frame(file, source, place, message, help) }
    }
}
