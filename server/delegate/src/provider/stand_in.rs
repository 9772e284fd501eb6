//! The same tools while there is no engine. The connection answers each call with its trouble, which says what to start.
//! It must never answer a call by itself.

use entraclaw_mcp::{Begun, Call, Connection, Offer, Offers, Provider, Refusal};

use super::tools::{SET, tools};
use crate::engine::Capabilities;

/// Stands in for the provider of an engine that does not run.
pub struct StandIn;

impl Provider for StandIn {
    fn offers(&self) -> Offers {
        let tools = tools(&Capabilities::default());
        Offers { tools: tools.into_iter().map(|tool| Offer::new(SET, tool)).collect(), ..Offers::default() }
    }

    fn call(&mut self, _call: Call<'_>, _connection: &mut Connection) -> Result<Begun, Refusal> {
        Err("no engine runs in this project; start it by `entraclaw delegate`".into())
    }
}
