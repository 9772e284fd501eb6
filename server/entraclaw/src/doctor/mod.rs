//! Judges the facts that `entraclaw doctor` gathers, in small pure functions, and gives each finding a fix.
//!
//! It must never read anything itself, so that every broken state is a row in a test; and never hold a token.

mod agents;
mod checks;
mod delegate;
mod facts;
mod found;
mod memory;
pub mod show;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use checks::examine;
pub use facts::{
    AgentFacts, Answered, AskFacts, CertificateFacts, ConfigFacts, DelegateFacts, Facts, GraphFacts,
    HomeFacts, MemoryFacts, SignIn,
};

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Nothing to do.
    Ok,
    /// It works, but needs a look.
    Warn,
    /// It keeps messages from coming or going, or other agents from being asked.
    Fail,
}

/// One line of the diagnosis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// The name of the check.
    pub name: String,
    /// The severity.
    pub level: Level,
    /// The finding.
    pub found: String,
    /// The fix; absent if there is nothing to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// The document that `entraclaw doctor --json` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Diagnosis {
    /// The version of this format: 1.
    pub v: u32,
    /// The time of the checks, RFC 3339, UTC.
    pub at: String,
    /// The highest severity of all checks.
    pub level: Level,
    /// The checks, in the order in which they depend on each other.
    pub checks: Vec<Check>,
}

#[cfg(test)]
mod tests;
