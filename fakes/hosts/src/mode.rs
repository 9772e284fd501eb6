//! How a host runs: with a person, or headless.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the host runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Interactive, with a person at the keyboard.
    #[default]
    Tui,
    /// Headless, with one prompt.
    Print,
}
