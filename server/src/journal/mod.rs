//! The journal: every message once, in order, durable before anybody is told; and who has seen what.

mod consumer;
mod error;
mod interaction;
mod mailbox;
mod options;

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

pub use consumer::ConsumerName;
pub use error::{JournalError, Result};
pub use interaction::{Interaction, InteractionKind};
pub use mailbox::{Batch, DeliveryId, Handed, Mailbox, Query};
pub use options::{Appended, Finding, JournalOptions, JournalStats, NewConsumerStarts, OpenReport};

use crate::clock::Clock;
use crate::record::{Draft, Record};
use crate::storage::Storage;

/// The journal of one home folder; a cheap clone.
#[derive(Clone)]
pub struct Journal {
    inner: Arc<Mutex<Vec<Record>>>,
    clock: Arc<dyn Clock>,
    grown: watch::Sender<u64>,
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Journal").finish_non_exhaustive()
    }
}

impl Journal {
    /// Opens the journal under `storage`, leading if nobody else does.
    pub fn open(
        _storage: Arc<dyn Storage>,
        clock: Arc<dyn Clock>,
        _options: JournalOptions,
    ) -> Result<(Self, OpenReport)> {
        let journal = Self { inner: Arc::default(), clock, grown: watch::Sender::new(0) };
        Ok((journal, OpenReport::default()))
    }

    /// Whether this process leads: it polls and appends.
    pub fn is_leader(&self) -> bool {
        true
    }

    /// Takes the lead if it is free. Returns whether this process leads now.
    pub fn try_lead(&self) -> Result<bool> {
        Ok(true)
    }

    /// Lets a follower look for new records. Returns whether there are any. Cheap; call it every 250 to 1000 ms.
    pub fn refresh(&self) -> Result<bool> {
        Ok(false)
    }

    /// Appends what is new, in order; one write a record, one sync a call, then the interaction log, then the watchers.
    pub fn append(&self, drafts: Vec<Draft>) -> Result<Appended> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let mut new = Vec::new();
        for draft in drafts {
            let record = Record::from_draft(draft, inner.len() as u64 + 1, self.clock.now().to_string());
            inner.push(record.clone());
            new.push(record);
        }
        self.grown.send_replace(inner.len() as u64);
        Ok(Appended { new, duplicates: 0 })
    }

    /// The newest record's place, whenever it changes.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.grown.subscribe()
    }

    /// Up to `limit` records after `seq`, in order.
    pub fn read_after(&self, seq: u64, limit: usize) -> Result<Vec<Record>> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(inner.iter().filter(|r| r.seq > seq).take(limit).cloned().collect())
    }

    /// The newest record's place; 0 when there is none.
    pub fn last_seq(&self) -> u64 {
        *self.grown.borrow()
    }

    /// Counters and where the journal stands.
    pub fn stats(&self) -> JournalStats {
        JournalStats::default()
    }

    /// Writes one line to the audit log. A failure is counted and stops nothing.
    pub fn interaction(&self, _interaction: Interaction) {}

    /// A session of `consumer` begins. It ends when the mailbox is dropped or the process dies.
    pub fn mailbox(&self, _consumer: &ConsumerName, _session_id: &str) -> Result<Mailbox> {
        Ok(Mailbox::new(self.clone()))
    }
}
