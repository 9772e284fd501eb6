//! The sessions of one home folder: each tells in a file what state it is in, and holds a lock while it lives.
//!
//! It must never hold what a person wrote, nor a token; and nothing may depend on these files: they are made again.

mod file;

use entraclaw_seams::storage::{Storage, read_whole};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use file::{GraphLine, HostLine, JournalLine, SessionFile, SourceLine, SponsorsLine, StatusFile};

/// The leader's word on sources and journal.
pub const STATUS_FILE: &str = "status.json";
/// The folder of sessions: `<id>.json` is what one says, `<id>.lock` is held while it lives.
pub const SESSIONS: &str = "sessions";

/// The largest file that is read.
const FILE_BYTES_MAX: u64 = 256 * 1024;
/// Sessions that are looked at.
const SESSIONS_MAX: usize = 256;

/// A session's file.
pub fn session_file(id: &str) -> String {
    format!("{SESSIONS}/{id}.json")
}

/// How many sessions have a file, those that died lately included.
pub fn sessions_there(storage: &dyn Storage) -> usize {
    let names = storage.list(SESSIONS).unwrap_or_default();
    names.iter().filter(|name| name.strip_suffix(".json").is_some()).count()
}

/// The lock that a living session holds.
pub fn session_lock(id: &str) -> String {
    format!("{SESSIONS}/{id}.lock")
}

/// A session's file, and whether it lives.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionLine {
    /// Its process is there; otherwise the file is left over.
    pub alive: bool,
    /// What it says.
    pub file: SessionFile,
}

/// What the session that polls says, while it lives.
pub fn leaders_word(storage: &dyn Storage) -> Option<StatusFile> {
    let status: StatusFile = read(storage, STATUS_FILE)?;
    is_alive(storage, &status.session).then_some(status)
}

/// Whether a session lives. A lock is only asked for where there is one: asking makes it.
fn is_alive(storage: &dyn Storage, id: &str) -> bool {
    let lock = session_lock(id);
    matches!(storage.len(&lock), Ok(Some(_))) && matches!(storage.try_lock(&lock), Ok(None))
}

/// Whether a living session polls.
pub fn somebody_polls(storage: &dyn Storage) -> bool {
    sessions(storage).iter().any(|session| session.alive && session.file.leads)
}

/// Consumers that living sessions read as.
pub fn living_consumers(storage: &dyn Storage) -> Vec<String> {
    let alive = sessions(storage).into_iter().filter(|session| session.alive);
    alive.flat_map(|session| session.file.consumers).collect()
}

/// Reads one of these files; `None` where it is missing or broken.
pub fn read<T: DeserializeOwned>(storage: &dyn Storage, path: &str) -> Option<T> {
    serde_json::from_slice(&read_whole(storage, path, FILE_BYTES_MAX).ok()??).ok()
}

/// The files of all sessions, those that live first.
pub fn sessions(storage: &dyn Storage) -> Vec<SessionLine> {
    let names = storage.list(SESSIONS).unwrap_or_default();
    let ids = names.iter().filter_map(|name| name.strip_suffix(".json"));
    let mut lines: Vec<SessionLine> = ids
        .take(SESSIONS_MAX)
        .filter_map(|id| {
            let file = read(storage, &session_file(id))?;
            Some(SessionLine { alive: is_alive(storage, id), file })
        })
        .collect();
    lines.sort_by(|a, b| (!a.alive, &a.file.started_at).cmp(&(!b.alive, &b.file.started_at)));
    lines
}
