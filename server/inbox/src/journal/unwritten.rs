//! Notes that the disk did not take, for every consumer that this process reads as.
//!
//! All mailboxes of a consumer apply them, and the next one that writes its file writes them too. It must never hold more
//! than its bound.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::consumer::ConsumerName;
use super::ledger::Note;

/// Notes kept for one consumer; beyond that the oldest are dropped.
const NOTES_MAX: usize = 4_096;

/// The unwritten notes of each consumer; a cheap clone.
#[derive(Clone, Default)]
pub(super) struct UnwrittenNotes(Arc<Mutex<BTreeMap<ConsumerName, Vec<Note>>>>);

impl UnwrittenNotes {
    fn all(&self) -> MutexGuard<'_, BTreeMap<ConsumerName, Vec<Note>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_empty(&self, consumer: &ConsumerName) -> bool {
        !self.all().contains_key(consumer)
    }

    /// Calls `tell` with each note, in order.
    pub(super) fn each(&self, consumer: &ConsumerName, tell: impl FnMut(&Note)) {
        self.all().get(consumer).into_iter().flatten().for_each(tell);
    }

    /// Removes and returns all notes. The caller writes them or adds them again.
    pub(super) fn take(&self, consumer: &ConsumerName) -> Vec<Note> {
        self.all().remove(consumer).unwrap_or_default()
    }

    /// Adds notes that the disk did not take.
    pub(super) fn add(&self, consumer: &ConsumerName, notes: Vec<Note>) {
        let mut all = self.all();
        let unwritten = all.entry(consumer.clone()).or_default();
        unwritten.extend(notes);
        unwritten.drain(..unwritten.len().saturating_sub(NOTES_MAX));
    }
}
