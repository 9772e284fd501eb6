//! What state everything is in, without asking anybody: each session tells it in files, `entraclaw status` reads them.
//!
//! It must never hold what a person wrote, nor a token; and nothing may depend on these files: they are made again.

mod file;
pub mod judge;
mod keeper;
pub mod report;
pub mod show;

pub use file::{GraphLine, HostLine, JournalLine, SessionFile, SourceLine, SponsorsLine, StatusFile};
pub(crate) use keeper::state_of;
pub use keeper::{Keeper, WatchedSource};
pub use report::{
    ConsumerLine, Report, SessionLine, gather, gather_sessions, leaders_word, living_consumers,
    somebody_polls,
};

use crate::storage::Storage;

/// The leader's word on sources and journal.
pub const STATUS_FILE: &str = "status.json";
/// The folder of sessions: `<id>.json` is what one says, `<id>.lock` is held while it lives.
pub const SESSIONS: &str = "sessions";

/// A session's file.
fn session_file(id: &str) -> String {
    format!("{SESSIONS}/{id}.json")
}

/// How many sessions have a file, those that died lately included.
pub(crate) fn sessions_there(storage: &dyn Storage) -> usize {
    let names = storage.list(SESSIONS).unwrap_or_default();
    names.iter().filter(|name| name.strip_suffix(".json").is_some()).count()
}

/// The lock that a living session holds.
fn session_lock(id: &str) -> String {
    format!("{SESSIONS}/{id}.lock")
}

#[cfg(test)]
mod tests;
