//! One fake Graph that a transport and a scenario share, in memory or behind HTTP.
//! It never keeps the lock longer than one call.

use jiff::Timestamp;

use super::script_error::ScriptError;
use super::state::FakeGraph;
use crate::http::{HttpFake, WiremockSkin, listen, skin};
use crate::shared::Shared;
use crate::wire::{Answer, Request};

/// A handle on a [`FakeGraph`] that is cheap to clone.
pub type SharedGraph = Shared<FakeGraph>;

impl SharedGraph {
    /// Serves one request at the instant `now`.
    pub fn handle(&self, now: Timestamp, request: &Request) -> Answer {
        self.with(|graph| graph.handle(now, request))
    }
}

/// A fake Graph behind HTTP.
pub type GraphServer = HttpFake<SharedGraph>;

/// A responder for every request. `clock` gives the time of the world, which is usually the machine's.
pub fn wiremock_skin(
    graph: SharedGraph,
    clock: impl Fn() -> Timestamp + Send + Sync + 'static,
) -> WiremockSkin {
    skin(move |request: &Request| graph.handle(clock(), request))
}

/// Starts a server for a fake and puts its origin into the fake's links.
pub async fn serve(
    graph: SharedGraph,
    clock: impl Fn() -> Timestamp + Send + Sync + 'static,
) -> Result<GraphServer, ScriptError> {
    let server = listen(graph, clock, SharedGraph::handle).await;
    server.fake.with(|graph| graph.set_base_url(&server.base_url()))?;
    Ok(server)
}
