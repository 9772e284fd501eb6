//! Teams: one look at the list of chats a tick, then only the chats that changed; and sending.
//! It must never decide who may speak, which the gate does, nor show a text that has not passed the sanitiser.

mod claims;
mod cursor;
mod draft;
mod identity;
mod judge;
mod known;
mod listing;
mod members;
mod page;
mod poll;
mod provider;
mod reading;
mod send;
mod settings;
mod turn;
mod watched;
mod wire;

use std::convert::Infallible;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;

pub use cursor::{CURSOR_FILE, position};
pub use identity::identify;
pub use known::Known;
pub use provider::TeamsProvider;
pub use send::TeamsOutbox;
pub use settings::{GroupMessages, PAGE_SIZE_MAX, Settings, Watchable};
pub use watched::{FILE as WATCHED_FILE, list as watched_list};

use entraclaw_inbox::source::{InboundSource, SourceStatus};
use tokio::time::Instant;

use crate::graph::GraphClient;
use entraclaw_inbox::gate::Gate;
use entraclaw_inbox::journal::Journal;
use entraclaw_seams::clock::Clock;
use entraclaw_seams::storage::Storage;

/// What the source is made of.
#[derive(Clone)]
pub struct TeamsParts {
    /// Graph.
    pub client: Arc<GraphClient>,
    /// Where the cursor is kept.
    pub storage: Arc<dyn Storage>,
    /// For the status and the interaction log.
    pub clock: Arc<dyn Clock>,
    /// Who may speak.
    pub gate: Arc<Gate>,
    /// Shared with the outbox.
    pub known: Arc<Known>,
    /// The `[teams]` table.
    pub options: Settings,
}

/// The source.
pub struct TeamsSource {
    parts: TeamsParts,
    status: SourceStatus,
    /// On a first start, what was written before this is history; what was written before the first poll is not.
    started: Instant,
}

impl TeamsSource {
    /// A source that has not asked anybody yet.
    pub fn new(parts: TeamsParts) -> Self {
        Self::with_status(parts, SourceStatus::default())
    }

    /// A source that reports to a handle which somebody else has already.
    pub fn with_status(parts: TeamsParts, status: SourceStatus) -> Self {
        Self { parts, status, started: Instant::now() }
    }
}

impl InboundSource for TeamsSource {
    fn name(&self) -> &'static str {
        "teams"
    }

    fn run<'a>(&'a mut self, journal: &'a Journal) -> LocalBoxFuture<'a, Infallible> {
        poll::Poll::new(&self.parts, journal, self.status.clone(), self.started).run().boxed_local()
    }

    fn status(&self) -> SourceStatus {
        self.status.clone()
    }
}

#[cfg(test)]
mod draft_tests;
#[cfg(test)]
mod send_tests;
#[cfg(test)]
mod tests;
