//! Teams: each tick lists the chats and then reads only those that changed; this module also sends messages.
//! It must never decide who may speak, because the gate does, nor show a text that has not passed the
//! sanitiser.

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
pub use settings::{GroupMessages, Settings, Watchable};
pub use watched::{FILE as WATCHED_FILE, list as watched_list};

use entraclaw_inbox::source::{InboundSource, SourceStatus};
use tokio::time::Instant;

use crate::graph::GraphClient;
use entraclaw_inbox::gate::Gate;
use entraclaw_inbox::journal::Journal;
use entraclaw_seams::clock::Clock;
use entraclaw_seams::storage::Storage;

/// The parts that a [`TeamsSource`] is built from.
#[derive(Clone)]
pub struct TeamsParts {
    /// The client for Microsoft Graph.
    pub client: Arc<GraphClient>,
    /// The storage that holds the cursor.
    pub storage: Arc<dyn Storage>,
    /// The clock for the status and the interaction log.
    pub clock: Arc<dyn Clock>,
    /// The gate, which decides who may speak.
    pub gate: Arc<Gate>,
    /// The facts that the source learns; shared with the outbox.
    pub known: Arc<Known>,
    /// The settings of the `[teams]` table.
    pub options: Settings,
}

/// The source that polls Teams.
pub struct TeamsSource {
    parts: TeamsParts,
    status: SourceStatus,
    /// A first start counts messages as history by this moment, not by the moment of the first poll.
    started: Instant,
}

impl TeamsSource {
    /// Builds a source that reports to an existing status handle.
    pub fn new(parts: TeamsParts, status: SourceStatus) -> Self {
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
