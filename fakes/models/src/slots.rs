//! Slots: where the state of a conversation is kept, so that what two questions have in common is computed once.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::Instant;

use crate::script::{Restore, Slots};

/// The state of one slot.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    /// The tokens whose state it has.
    pub(crate) tokens: Vec<String>,
    /// How long it works on for a client that is gone.
    pub(crate) busy_until: Option<Instant>,
}

/// All slots of a server, and the files of saved ones.
#[derive(Debug)]
pub(crate) struct AllSlots {
    slots: Vec<Arc<Mutex<Slot>>>,
    files: std::sync::Mutex<BTreeMap<String, Vec<String>>>,
    restore: Restore,
}

impl AllSlots {
    pub(crate) fn new(slots: Slots) -> Self {
        let count = usize::from(slots.count.max(1));
        let slots_of = (0..count).map(|_| Arc::new(Mutex::new(Slot::default()))).collect();
        Self { slots: slots_of, files: std::sync::Mutex::default(), restore: slots.restore }
    }

    pub(crate) fn has(&self, id: usize) -> bool {
        id < self.slots.len()
    }

    /// The wanted slot, else one that is free, else the first; waits until it is free.
    pub(crate) async fn take(&self, wanted: Option<usize>) -> OwnedMutexGuard<Slot> {
        let free = || {
            self.slots.iter().find_map(|slot| {
                let slot = Arc::clone(slot).try_lock_owned().ok()?;
                slot.busy_until.is_none_or(|until| until <= Instant::now()).then_some(slot)
            })
        };
        let found = match wanted.and_then(|id| self.slots.get(id)) {
            Some(_) => None,
            None => free(),
        };
        let mut slot = match found {
            Some(slot) => slot,
            None => {
                Arc::clone(&self.slots[wanted.filter(|&id| self.has(id)).unwrap_or(0)]).lock_owned().await
            }
        };
        if let Some(until) = slot.busy_until.take() {
            tokio::time::sleep_until(until).await;
        }
        slot
    }

    /// Saves a slot; how many tokens it holds.
    pub(crate) async fn save(&self, id: usize, file: &str) -> usize {
        let tokens = self.take(Some(id)).await.tokens.clone();
        let count = tokens.len();
        self.files.lock().unwrap_or_else(PoisonError::into_inner).insert(file.to_owned(), tokens);
        count
    }

    /// Restores a slot; how many tokens the file holds, if there is one.
    pub(crate) async fn restore(&self, id: usize, file: &str) -> Option<usize> {
        let tokens = self.files.lock().unwrap_or_else(PoisonError::into_inner).get(file).cloned()?;
        let count = tokens.len();
        let mut slot = self.take(Some(id)).await;
        slot.tokens = match self.restore {
            Restore::True => tokens,
            Restore::Lies => Vec::new(),
        };
        Some(count)
    }
}

/// How many tokens of the question the slot has. One is always computed again, or there would be nothing to go on from.
pub(crate) fn cached(slot: &Slot, prompt: &[String]) -> usize {
    let common = slot.tokens.iter().zip(prompt).take_while(|(one, other)| one == other).count();
    common.min(prompt.len().saturating_sub(1))
}
