//! Orphaned deliveries: records that a session was handed and died with, of which a living session or a command is told.
//! It must never call a session dead whose lock is held, and never change anything.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::consumer::ConsumerName;
use super::error::{JournalError, Result};
use super::ledger::Held;
use super::ledger_file::{LedgerFile, slot_is_taken};
use entraclaw_seams::clock::Clock;
use entraclaw_seams::storage::Storage;

/// A delivery that was handed out longer ago than this when a session or a command first looks is not told of: a session that
/// takes the place of a dead one is told, and a model is not woken by the last message of yesterday.
const TOLD_OF_BEFORE: SignedDuration = SignedDuration::from_hours(1);

/// The orphaned deliveries of a consumer, for a command, which is no session.
pub struct Orphans {
    storage: Arc<dyn Storage>,
    clock: Arc<dyn Clock>,
    consumer: ConsumerName,
    file: LedgerFile,
}

impl std::fmt::Debug for Orphans {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Orphans").field("consumer", &self.consumer).finish_non_exhaustive()
    }
}

impl Orphans {
    /// Those of a consumer, not looked at yet.
    pub fn of(storage: Arc<dyn Storage>, clock: Arc<dyn Clock>, consumer: &ConsumerName) -> Self {
        let file = LedgerFile::new(Arc::clone(&storage), consumer);
        Self { storage, clock, consumer: consumer.clone(), file }
    }

    /// Whether there is one that was handed out lately and that no living session was told of since.
    pub fn any_untold(&mut self) -> Result<bool> {
        self.file.refresh().map_err(JournalError::storage("read the consumer's file"))?;
        let now = self.clock.now();
        let slots = self.file.ledger().slots.iter().filter(|(_, what)| !what.held.is_empty());
        let mut dead = slots.filter(|(slot, _)| !slot_is_taken(&*self.storage, &self.consumer, **slot));
        Ok(dead.any(|(_, what)| what.held.values().any(|held| is_recent(*held, now))))
    }
}

/// Whether this was handed out so short a time before `now` that it is told of.
pub(super) fn is_recent(held: Held, now: Timestamp) -> bool {
    held.at.is_some_and(|at| now.duration_since(at).abs() <= TOLD_OF_BEFORE)
}
