//! Mail: a look at what changed in the inbox a tick, then only the mails that are new; and reading and sending.
//! It must never believe an address that the own mail system does not vouch for, nor show a text that has not passed
//! the sanitiser.

mod auth;
mod automatic;
mod cursor;
mod delta;
mod draft;
mod history;
mod judge;
mod known;
mod poll;
mod quota;
mod service;
mod settings;
mod wire;

use std::convert::Infallible;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use tokio::time::Instant;

pub use cursor::{CURSOR_FILE, position};
pub use known::MailKnown;
pub use quota::Quota;
pub use service::GraphMailService;
pub use settings::Settings;

use crate::graph::GraphClient;
use entraclaw_inbox::gate::MailGate;
use entraclaw_inbox::journal::Journal;
use entraclaw_inbox::source::{InboundSource, SourceStatus};
use entraclaw_seams::clock::Clock;
use entraclaw_seams::storage::Storage;

/// What the source is made of.
#[derive(Clone)]
pub struct MailParts {
    /// Graph.
    pub client: Arc<GraphClient>,
    /// Where the cursor is kept.
    pub storage: Arc<dyn Storage>,
    /// For the status and the interaction log.
    pub clock: Arc<dyn Clock>,
    /// Who may speak.
    pub gate: Arc<MailGate>,
    /// Shared with the service.
    pub known: Arc<MailKnown>,
    /// The `[mail]` table.
    pub options: Settings,
}

/// The source.
pub struct MailSource {
    parts: MailParts,
    status: SourceStatus,
    /// On a first start, what was received before this is history; what came before the first poll is not.
    started: Instant,
}

impl MailSource {
    /// A source that has not asked anybody yet.
    pub fn new(parts: MailParts) -> Self {
        Self::with_status(parts, SourceStatus::default())
    }

    /// A source that reports to a handle which somebody else has already.
    pub fn with_status(parts: MailParts, status: SourceStatus) -> Self {
        Self { parts, status, started: Instant::now() }
    }
}

impl InboundSource for MailSource {
    fn name(&self) -> &'static str {
        "mail"
    }

    fn run<'a>(&'a mut self, journal: &'a Journal) -> LocalBoxFuture<'a, Infallible> {
        poll::Poll::new(&self.parts, journal, self.status.clone(), self.started).run().boxed_local()
    }

    fn status(&self) -> SourceStatus {
        self.status.clone()
    }
}

#[cfg(test)]
mod tests;
