//! What state everything is in, without asking anybody: each session tells it in files, `entraclaw status` reads them.
//!
//! It must never hold what a person wrote, nor a token; and nothing may depend on these files: they are made again.

pub mod amount;
pub mod judge;
mod keeper;
pub mod report;
pub mod show;

pub use entraclaw_inbox::sessions::{
    GraphLine, HostLine, JournalLine, SESSIONS, STATUS_FILE, SessionFile, SessionLine, SourceLine,
    SponsorsLine, StatusFile, leaders_word, living_consumers, session_file, session_lock, sessions_there,
    somebody_polls,
};
pub(crate) use keeper::state_of;
pub use keeper::{Keeper, WatchedSource};
pub use report::{ConsumerLine, Report, WorkSummary, gather, gather_sessions};

#[cfg(test)]
mod tests;
