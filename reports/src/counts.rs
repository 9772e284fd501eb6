//! Cells or runs by state.

use std::collections::BTreeMap;

use crate::event::Status;

/// Cells or runs by state; every state is present.
pub type Counts = BTreeMap<Status, u64>;

/// How many of them say something about the server, by [`Status::counts`].
pub fn supported(counts: &Counts) -> u64 {
    counts.iter().filter(|(state, _)| state.counts()).map(|(_, count)| count).sum()
}

/// No cell, in every state.
pub(crate) fn no_counts() -> Counts {
    Status::ALL.into_iter().map(|state| (state, 0)).collect()
}

/// Adds one.
pub(crate) fn count(counts: &mut Counts, state: Status) {
    *counts.entry(state).or_insert(0) += 1;
}
