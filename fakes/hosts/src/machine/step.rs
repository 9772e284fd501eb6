//! One step of the model, and what of it is still open.

use std::collections::{BTreeSet, VecDeque};

/// One step of the model: the calls of one of its answers.
#[derive(Debug, Default)]
pub(super) struct Step {
    pub(super) waiting: VecDeque<u64>,
    pub(super) open: BTreeSet<u64>,
    /// Hooks that run after its calls.
    pub(super) hooks: BTreeSet<u64>,
}

impl Step {
    /// Whether there is more to wait for than hooks.
    pub(super) fn has_calls(&self) -> bool {
        !self.waiting.is_empty() || !self.open.is_empty()
    }
}
