//! What a host does with a call that takes longer than its limit.

use std::time::Duration;

/// What becomes of a call that is open beyond the limit of its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beyond {
    /// The host gives it up.
    GivenUp,
    /// The host's model waits, as long as progress is reported this often.
    KeptOpen(Duration),
    /// The host lets its model go on meanwhile, and the late result wakes it; progress is to be reported this often.
    InBackground(Duration),
}
