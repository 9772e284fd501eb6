//! One fake Graph that a transport and a scenario hold together, in memory or behind HTTP.
//! It never keeps the lock longer than one call.

use jiff::Timestamp;

use super::script_error::ScriptError;
use super::state::FakeGraph;
use crate::http::{HttpFake, WiremockSkin, listen, skin};
use crate::shared::Shared;
use crate::wire::{Answer, Request};

/// A handle on a [`FakeGraph`].
pub type SharedGraph = Shared<FakeGraph>;

impl SharedGraph {
    /// Serves one request at an instant.
    pub fn handle(&self, now: Timestamp, request: &Request) -> Answer {
        self.with(|graph| graph.handle(now, request))
    }
}

/// A fake Graph that listens.
pub type GraphServer = HttpFake<SharedGraph>;

/// A catch-all responder. `clock` tells the time of the world, usually the machine's.
pub fn wiremock_skin(
    graph: SharedGraph,
    clock: impl Fn() -> Timestamp + Send + Sync + 'static,
) -> WiremockSkin {
    skin(move |request: &Request| graph.handle(clock(), request))
}

/// Starts a server for a fake and makes the fake's links name it.
pub async fn serve(
    graph: SharedGraph,
    clock: impl Fn() -> Timestamp + Send + Sync + 'static,
) -> Result<GraphServer, ScriptError> {
    let server = listen(graph, clock, SharedGraph::handle).await;
    server.fake.with(|graph| graph.set_base_url(&server.base_url()))?;
    Ok(server)
}
