//! Mail: each poll reads only the new mails of the inbox, and the tools read and send mail.
//! It must never believe an address that the agent's own mail system does not confirm, nor show a text that
//! has not passed the sanitiser.

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

/// The parts of the mail source.
#[derive(Clone)]
pub struct MailParts {
    /// The client for Graph.
    pub client: Arc<GraphClient>,
    /// Where the cursor is kept.
    pub storage: Arc<dyn Storage>,
    /// Gives the times of the status and of the interaction log.
    pub clock: Arc<dyn Clock>,
    /// Decides which senders may speak.
    pub gate: Arc<MailGate>,
    /// The agent's own addresses, shared with the service.
    pub known: Arc<MailKnown>,
    /// The `[mail]` table.
    pub options: Settings,
}

/// The mail source, which polls the inbox.
pub struct MailSource {
    parts: MailParts,
    status: SourceStatus,
    /// On a first start, mails received before this time are history; later ones are news, even before the
    /// first poll.
    started: Instant,
}

impl MailSource {
    /// A source that reports to an existing status handle.
    pub fn new(parts: MailParts, status: SourceStatus) -> Self {
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
