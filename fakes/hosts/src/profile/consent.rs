//! What a host asks its person before a server may do something, and what it hands to a server of its own environment.
//! Nothing here acts; a fact that no machine reads must not be declared.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fact::{Evidence, Fact, PerMode, facts};

/// What becomes of a call that nothing in the person's settings lets run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unallowed {
    /// It runs.
    Runs,
    /// A dialog opens and waits for the person; the call waits with it.
    Asks,
    /// It is refused.
    Refuses,
}

facts! {
    /// The person's consent to calls of tools.
    Consent, ConsentPatch {
        /// A call that nothing lets run.
        calls: PerMode<Unallowed>,
        /// Whether a tool that says that it only reads runs without being let.
        spares_reading: bool,
        /// A call of a tool that does not only read, although the person's settings let it run, while the session only plans.
        plan: PerMode<Unallowed>,
        /// The event at which a command of the person may give the consent; nothing where there is none.
        hook: Option<String>,
    }
}

facts! {
    /// The variables of a server.
    Environment, EnvironmentPatch {
        /// Names that a server gets of the host's own environment; nothing when it gets all of them.
        only: Option<Vec<String>>,
        /// Words in a name that keep it from the server, as far as it gets all of them; in capitals.
        hidden: Vec<String>,
    }
}

impl Environment {
    /// Whether a server gets a variable of the host's own.
    pub fn hands_down(&self, name: &str) -> bool {
        if let Some(only) = &*self.only {
            return only.iter().any(|known| known == name);
        }
        let name = name.to_ascii_uppercase();
        !self.hidden.iter().any(|word| name.contains(word.as_str()))
    }
}
