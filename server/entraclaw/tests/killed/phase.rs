//! What the hosts are to do: hand over tasks, wait for the last ones, or give up.

use std::sync::atomic::{AtomicU8, Ordering};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Working,
    Ending,
    /// Something was found, and the world is not played any further.
    GivenUp,
}

#[derive(Default)]
pub(crate) struct Phases(AtomicU8);

/// Ends the hosts when the thread that holds it panics.
pub(crate) struct GiveUp<'a>(&'a Phases);

impl Phases {
    pub(crate) fn now(&self) -> Phase {
        match self.0.load(Ordering::Relaxed) {
            0 => Phase::Working,
            1 => Phase::Ending,
            _ => Phase::GivenUp,
        }
    }

    pub(crate) fn enter(&self, phase: Phase) {
        self.0.store(phase as u8, Ordering::Relaxed);
    }

    pub(crate) fn give_up_on_a_panic(&self) -> GiveUp<'_> {
        GiveUp(self)
    }
}

impl Drop for GiveUp<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.enter(Phase::GivenUp);
        }
    }
}
