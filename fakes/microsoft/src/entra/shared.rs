//! One fake Entra that a transport and a scenario share, with the fake Graph that accepts its tokens.
//! It never keeps a lock longer than one call, and never holds both locks at once.

use jiff::Timestamp;

use super::state::FakeEntra;
use crate::graph::SharedGraph;
use crate::http::{HttpFake, listen};
use crate::shared::Shared;
use crate::wire::{Answer, Request};

/// A handle on a [`FakeEntra`] that is cheap to clone: the in-memory skin.
#[derive(Debug, Clone)]
pub struct SharedEntra {
    entra: Shared<FakeEntra>,
    graph: Option<SharedGraph>,
}

impl SharedEntra {
    /// Makes the first handle on a fake. `graph` accepts the fake's access tokens until they end.
    pub fn new(entra: FakeEntra, graph: Option<SharedGraph>) -> Self {
        Self { entra: Shared::new(entra), graph }
    }

    /// Runs `work` on the fake. `work` must not use this handle again.
    pub fn with<T>(&self, work: impl FnOnce(&mut FakeEntra) -> T) -> T {
        self.entra.with(work)
    }

    /// Serves one request at the instant `now`, and makes the fake Graph accept any new access token.
    pub fn handle(&self, now: Timestamp, request: &Request) -> Answer {
        let (answer, issued) = self.with(|entra| (entra.handle(now, request), entra.take_issued()));
        if let Some(graph) = &self.graph {
            for issued in issued {
                graph.with(|graph| graph.accept_issued(&issued.token, issued.ends_ms, issued.claims));
            }
        }
        answer
    }
}

/// A fake Entra behind HTTP.
pub type EntraServer = HttpFake<SharedEntra>;

/// Starts a server for a fake and tells the fake its origin.
pub async fn serve(entra: SharedEntra, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> EntraServer {
    let server = listen(entra, clock, SharedEntra::handle).await;
    server.fake.with(|entra| entra.set_base_url(&server.base_url()));
    server
}
