//! `entraclaw doctor`: facts are gathered by the command, judged here by small pure functions, each with the fix.
//!
//! It must never read anything itself, so that every broken state is a table in a test; and never hold a token.

mod checks;
mod facts;
pub mod show;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use checks::examine;
pub use facts::{Answered, CertificateFacts, ConfigFacts, Facts, GraphFacts, HomeFacts, SignIn, TokenFacts};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// As it should be.
    Ok,
    /// Works, but look at it.
    Warn,
    /// Keeps messages from coming or going.
    Fail,
}

/// One line of the diagnosis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// What was looked at.
    pub name: String,
    /// How bad it is.
    pub level: Level,
    /// What was found.
    pub found: String,
    /// What to do about it; absent when nothing is to be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// What `entraclaw doctor --json` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Diagnosis {
    /// Version of this shape; 1.
    pub v: u32,
    /// When it was looked, RFC 3339, UTC.
    pub at: String,
    /// The worst level of all checks.
    pub level: Level,
    /// In the order in which they depend on each other.
    pub checks: Vec<Check>,
}

#[cfg(test)]
mod tests;
