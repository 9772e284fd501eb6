//! When a host asks its user before a server may act, and which variables it hands to a server. Nothing here
//! acts; a fact that no machine reads must not be declared.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fact::{Evidence, Fact, PerMode, facts};

/// The fate of a call that no setting of the user allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unallowed {
    /// It runs.
    Runs,
    /// A dialog opens, and the call waits for the user.
    Asks,
    /// It is refused.
    Refuses,
}

facts! {
    /// The user's consent to tool calls.
    Consent, ConsentPatch {
        /// A call that no setting allows.
        calls: PerMode<Unallowed>,
        /// Whether a tool that declares that it only reads runs without consent.
        spares_reading: bool,
        /// A call of a tool that does not only read, in plan mode, although the user's settings allow it.
        plan: PerMode<Unallowed>,
        /// The event at which a command of the user may give the consent; nothing if there is none.
        hook: Option<String>,
    }
}

facts! {
    /// The environment variables of a server.
    Environment, EnvironmentPatch {
        /// Names of the host's own variables that a server gets; nothing if it gets all of them.
        only: Option<Vec<String>>,
        /// Words, in capitals, that keep a variable from a server that gets all others.
        hidden: Vec<String>,
    }
}

impl Environment {
    /// Whether a server gets this variable of the host.
    pub fn hands_down(&self, name: &str) -> bool {
        if let Some(only) = &*self.only {
            return only.iter().any(|known| known == name);
        }
        let name = name.to_ascii_uppercase();
        !self.hidden.iter().any(|word| name.contains(word.as_str()))
    }
}
