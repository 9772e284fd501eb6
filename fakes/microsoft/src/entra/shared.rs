//! One fake Entra that a transport and a scenario hold together, with the Graph that believes its tokens.
//! It never keeps a lock longer than one call, and never both at once.

use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;

use super::state::FakeEntra;
use crate::graph::{Answer, HttpFake, Request, SharedGraph, listen};

/// A cheap handle on a [`FakeEntra`]: the in-memory skin.
#[derive(Debug, Clone)]
pub struct SharedEntra {
    entra: Arc<Mutex<FakeEntra>>,
    graph: Option<SharedGraph>,
}

impl SharedEntra {
    /// Shares a fake. Access tokens that it gives are accepted by `graph` until they end.
    pub fn new(entra: FakeEntra, graph: Option<SharedGraph>) -> Self {
        Self { entra: Arc::new(Mutex::new(entra)), graph }
    }

    /// Does something with the fake. `work` must not use this handle again.
    pub fn with<T>(&self, work: impl FnOnce(&mut FakeEntra) -> T) -> T {
        // Whoever panicked has already failed its run; the fake itself stays usable.
        work(&mut self.entra.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Serves one request at an instant.
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

/// A fake Entra that listens on loopback until it is dropped.
pub struct EntraServer {
    http: HttpFake,
    /// The fake behind it.
    pub entra: SharedEntra,
}

impl EntraServer {
    /// Its origin, e.g. `http://127.0.0.1:40123`.
    pub fn base_url(&self) -> String {
        self.http.base_url()
    }
}

/// Starts a server for a fake and tells the fake where it is.
pub async fn serve(entra: SharedEntra, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> EntraServer {
    let behind = entra.clone();
    let http = listen(move |request: &Request| behind.handle(clock(), request)).await;
    entra.with(|entra| entra.set_base_url(&http.base_url()));
    EntraServer { http, entra }
}
