//! The two modes of a host: interactive and headless.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The mode of a host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Interactive, with a user at the keyboard.
    #[default]
    Tui,
    /// Headless, with one prompt.
    Print,
}
