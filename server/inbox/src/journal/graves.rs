//! What the dead of a consumer left: records that a session was given and died with, of which somebody alive is told.
//! It must never call a session dead whose lock is held, and never change anything.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::consumer::ConsumerName;
use super::error::{JournalError, Result};
use super::ledger::{Held, Ledger};
use super::ledger_file::{self, LedgerFile};
use entraclaw_seams::clock::Clock;
use entraclaw_seams::storage::Storage;

/// How long before somebody looks first the dead may have been given what it is told of: who is opened in the place of
/// one that died is told, and nobody is woken by the last message of yesterday.
const TOLD_OF_BEFORE: SignedDuration = SignedDuration::from_hours(1);

/// Looks for somebody who is no session whether there is something to tell.
pub struct Graves {
    storage: Arc<dyn Storage>,
    clock: Arc<dyn Clock>,
    consumer: ConsumerName,
    file: LedgerFile,
}

impl std::fmt::Debug for Graves {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Graves").field("consumer", &self.consumer).finish_non_exhaustive()
    }
}

impl Graves {
    /// The graves of a consumer, not looked at yet.
    pub fn of(storage: Arc<dyn Storage>, clock: Arc<dyn Clock>, consumer: &ConsumerName) -> Self {
        let file = LedgerFile::new(Arc::clone(&storage), consumer);
        Self { storage, clock, consumer: consumer.clone(), file }
    }

    /// Whether the dead were lately given something that nobody has been told of since.
    pub fn have_something(&mut self) -> Result<bool> {
        self.file.refresh().map_err(JournalError::storage("read the consumer's file"))?;
        let now = self.clock.now();
        let mut held =
            held_by_the_dead(&*self.storage, &self.consumer, self.file.ledger(), None).into_values();
        Ok(held.any(|(_, held)| is_late(held, now)))
    }
}

/// By place: what the dead hold, but for one slot, and whose slot it is.
pub(super) fn held_by_the_dead(
    storage: &dyn Storage,
    consumer: &ConsumerName,
    ledger: &Ledger,
    but: Option<u16>,
) -> BTreeMap<u64, (u16, Held)> {
    let others = ledger.slots.iter().filter(|(slot, what)| Some(**slot) != but && !what.held.is_empty());
    let dead = others.filter(|(slot, _)| !ledger_file::slot_is_taken(storage, consumer, **slot));
    dead.flat_map(|(slot, what)| what.held.iter().map(|(seq, held)| (*seq, (*slot, *held)))).collect()
}

/// Whether the dead were given this so short a time before `now` that somebody who looks first is told of it.
pub(super) fn is_late(held: Held, now: Timestamp) -> bool {
    held.at.is_some_and(|at| now.duration_since(at).abs() <= TOLD_OF_BEFORE)
}
