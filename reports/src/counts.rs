//! Numbers of cells or runs by state.

use std::collections::BTreeMap;

use crate::event::Status;

/// Numbers of cells or runs by state; every state is present.
pub type Counts = BTreeMap<Status, u64>;

/// The number of those that say something about the server, by [`Status::counts`].
pub fn supported(counts: &Counts) -> u64 {
    counts.iter().filter(|(state, _)| state.counts()).map(|(_, count)| count).sum()
}

/// The number of those with a defect.
pub(crate) fn defects(counts: &Counts) -> u64 {
    counts.iter().filter(|(state, _)| state.is_defect()).map(|(_, count)| count).sum()
}

/// A zero for every state.
pub(crate) fn no_counts() -> Counts {
    Status::ALL.into_iter().map(|state| (state, 0)).collect()
}

pub(crate) fn count(counts: &mut Counts, state: Status) {
    *counts.entry(state).or_insert(0) += 1;
}
