//! Which coding CLI a script stands for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A coding CLI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Agent {
    /// GitHub Copilot CLI, `copilot`.
    Copilot,
}

impl Agent {
    /// The name of its program.
    pub fn program(self) -> &'static str {
        match self {
            Self::Copilot => "copilot",
        }
    }

    /// The version that a script without one stands for.
    pub fn version(self) -> &'static str {
        match self {
            Self::Copilot => "1.0.102",
        }
    }

    /// The environment variable that moves its store.
    pub fn store_variable(self) -> &'static str {
        match self {
            Self::Copilot => "COPILOT_HOME",
        }
    }
}
