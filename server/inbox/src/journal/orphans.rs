//! Orphaned deliveries: records that were handed to a session that ended before it acknowledged them.
//!
//! It must never treat a session as ended while its lock is held, and never change a file.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::consumer::ConsumerName;
use super::error::{JournalError, Result};
use super::ledger::Held;
use super::ledger_file::{LedgerFile, slot_is_taken};
use entraclaw_seams::clock::Clock;
use entraclaw_seams::storage::Storage;

/// The greatest age at which an orphaned delivery is reported. A session that replaces one that has just ended is told, and
/// a model is not woken for the last message of yesterday.
const TOLD_OF_BEFORE: SignedDuration = SignedDuration::from_hours(1);

/// The orphaned deliveries of a consumer, for a command, which is no session.
pub struct Orphans {
    storage: Arc<dyn Storage>,
    clock: Arc<dyn Clock>,
    consumer: ConsumerName,
    file: LedgerFile,
}

impl Orphans {
    /// The orphaned deliveries of a consumer. It reads no file yet.
    pub fn of(storage: Arc<dyn Storage>, clock: Arc<dyn Clock>, consumer: &ConsumerName) -> Self {
        let file = LedgerFile::new(Arc::clone(&storage), consumer);
        Self { storage, clock, consumer: consumer.clone(), file }
    }

    /// Whether a delivery of the last hour is orphaned and no session was told of it since.
    pub fn any_untold(&mut self) -> Result<bool> {
        self.file.refresh().map_err(JournalError::storage("read the consumer's file"))?;
        let now = self.clock.now();
        let slots = self.file.ledger().slots.iter().filter(|(_, what)| !what.held.is_empty());
        let mut dead = slots.filter(|(slot, _)| !slot_is_taken(&*self.storage, &self.consumer, **slot));
        Ok(dead.any(|(_, what)| what.held.values().any(|held| is_recent(*held, now))))
    }
}

/// Whether a delivery was handed out so shortly before `now` that it is reported.
pub(super) fn is_recent(held: Held, now: Timestamp) -> bool {
    held.at.is_some_and(|at| now.duration_since(at).abs() <= TOLD_OF_BEFORE)
}
