//! One step of the model, with its open calls and hooks.

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
    /// Whether the step has more open work than hooks.
    pub(super) fn has_calls(&self) -> bool {
        !self.waiting.is_empty() || !self.open.is_empty()
    }
}
