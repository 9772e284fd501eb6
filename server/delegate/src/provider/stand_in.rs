//! The same tools while there is no engine: each call is answered with `no_session`, and with what to start.
//! It must never do any work by itself.

use entraclaw_mcp::{Begun, Call, Connection, Era, Offers, Provider, Refusal};
use serde_json::Value;

use super::failure::{Failure, NO_SESSION};
use super::notices;
use super::tools::offers;
use crate::engine::Capabilities;

/// Stands in for the provider of an engine that does not run.
pub struct StandIn {
    why: String,
}

impl StandIn {
    /// The stand-in that says this: which engine is not there, and how to start it.
    pub fn new(why: impl Into<String>) -> Self {
        Self { why: why.into() }
    }
}

impl Default for StandIn {
    fn default() -> Self {
        Self::new("no engine runs in this project; start it by `entraclaw delegate`")
    }
}

impl Provider for StandIn {
    fn offers(&self) -> Offers {
        offers(&Capabilities::default())
    }

    fn declare(&self, era: Era, capabilities: &mut Value) {
        // The engine that comes tells the same session.
        notices::declare(era, capabilities);
    }

    fn call(&mut self, _call: Call<'_>, _connection: &mut Connection) -> Result<Begun, Refusal> {
        Err(Failure::new(NO_SESSION, self.why.clone()).text())
    }
}
