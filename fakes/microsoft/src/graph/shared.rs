//! One fake Graph that a transport and a scenario hold together.
//! It never keeps the lock longer than one call.

use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;

use super::state::FakeGraph;
use super::wire::{Answer, Request};

/// A cheap handle on a [`FakeGraph`]: the in-memory skin.
#[derive(Debug, Clone)]
pub struct SharedGraph {
    graph: Arc<Mutex<FakeGraph>>,
}

impl SharedGraph {
    /// Shares a fake.
    pub fn new(graph: FakeGraph) -> Self {
        Self { graph: Arc::new(Mutex::new(graph)) }
    }

    /// Does something with the fake. `work` must not use this handle again.
    pub fn with<T>(&self, work: impl FnOnce(&mut FakeGraph) -> T) -> T {
        // Whoever panicked has already failed its run; the fake itself stays usable.
        work(&mut self.graph.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Serves one request at an instant.
    pub fn handle(&self, now: Timestamp, request: &Request) -> Answer {
        self.with(|graph| graph.handle(now, request))
    }
}
