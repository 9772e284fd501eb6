//! Graph for tests that play a session on a paused clock, here and in the crate above.

pub(crate) mod graph;
pub(crate) mod script;
