//! The same tools while there is no engine. The connection answers each call with its trouble, which says what to start.
//! It must never answer a call by itself.

use entraclaw_mcp::{Begun, Call, Connection, Era, Offers, Provider, Refusal};
use serde_json::Value;

use super::notices;
use super::tools::offers;
use crate::engine::Capabilities;

/// Stands in for the provider of an engine that does not run.
pub struct StandIn;

impl Provider for StandIn {
    fn offers(&self) -> Offers {
        offers(&Capabilities::default())
    }

    fn declare(&self, era: Era, capabilities: &mut Value) {
        // The engine that comes tells the same session.
        notices::declare(era, capabilities);
    }

    fn call(&mut self, _call: Call<'_>, _connection: &mut Connection) -> Result<Begun, Refusal> {
        Err("no engine runs in this project; start it by `entraclaw delegate`".into())
    }
}
