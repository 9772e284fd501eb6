//! The state of everything, from files: each session writes its own, and `entraclaw status` reads them.
//!
//! The files must never contain a message's text or a token. Nothing may depend on them, as they are derived.

pub mod amount;
pub mod judge;
mod keeper;
mod memory;
pub mod report;
pub mod show;

pub use entraclaw_inbox::sessions::{
    GraphLine, HostLine, JournalLine, SESSIONS, STATUS_FILE, SessionFile, SessionLine, SourceLine,
    SponsorsLine, StatusFile, a_session_polls, leaders_word, living_consumers, session_file, session_lock,
    sessions_there,
};
pub use keeper::{Keeper, WatchedSource};
pub use memory::{AgentSessions, MemorySummary};
pub use report::{ConsumerLine, Report, gather, gather_sessions};

#[cfg(test)]
mod tests;
