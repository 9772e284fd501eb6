//! What all copies of a fake server share: its script, its slots and what it was asked.
//! It must never make an answer.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use crate::script::Script;
use crate::seen::{End, Seen};
use crate::slots::AllSlots;

pub(crate) struct State {
    pub(crate) script: Script,
    pub(crate) slots: AllSlots,
    seen: Mutex<Vec<Seen>>,
    started: Instant,
}

impl State {
    pub(crate) fn new(script: Script) -> Self {
        let slots = AllSlots::new(script.slots);
        Self { script, slots, seen: Mutex::default(), started: Instant::now() }
    }

    pub(crate) fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub(crate) fn seen(&self) -> MutexGuard<'_, Vec<Seen>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn update(&self, index: usize, change: impl FnOnce(&mut Seen)) {
        let now = self.now_ms();
        if let Some(seen) = self.seen().get_mut(index) {
            change(seen);
            if seen.end != End::Open {
                seen.ended_ms = Some(now);
            }
        }
    }
}
