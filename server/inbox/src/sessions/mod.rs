//! The sessions of one home folder: each writes its state to a file, and holds a lock until it ends.
//!
//! It must never hold a person's text, nor a token. Nothing may depend on these files, because they are
//! written anew.

mod file;

use entraclaw_seams::storage::{Storage, read_whole};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use crate::journal::JournalLine;
pub use file::{GraphLine, HostLine, SessionFile, SourceLine, SponsorsLine, StatusFile};

/// The leader's report on sources and journal.
pub const STATUS_FILE: &str = "status.json";
/// The folder of sessions: `<id>.json` is a session's report, `<id>.lock` is held until the session ends.
pub const SESSIONS: &str = "sessions";

/// The largest session file that is read.
const FILE_BYTES_MAX: u64 = 256 * 1024;
/// The most sessions that are read.
const SESSIONS_MAX: usize = 256;

/// The path of a session's file.
pub fn session_file(id: &str) -> String {
    format!("{SESSIONS}/{id}.json")
}

/// How many sessions have a file, including those that ended lately.
pub fn sessions_there(storage: &dyn Storage) -> usize {
    let names = storage.list(SESSIONS).unwrap_or_default();
    names.iter().filter(|name| name.strip_suffix(".json").is_some()).count()
}

/// The path of the lock that a running session holds.
pub fn session_lock(id: &str) -> String {
    format!("{SESSIONS}/{id}.lock")
}

/// A session's file, and whether the session still runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionLine {
    /// Whether the session's process runs; otherwise the file is left over.
    pub alive: bool,
    /// The session's report.
    pub file: SessionFile,
}

/// The report of the leader, if its session still runs.
pub fn leaders_word(storage: &dyn Storage) -> Option<StatusFile> {
    let status: StatusFile = read(storage, STATUS_FILE)?;
    is_alive(storage, &status.session).then_some(status)
}

/// Whether a session still runs. The lock is tried only if its file exists, because trying creates it.
fn is_alive(storage: &dyn Storage, id: &str) -> bool {
    let lock = session_lock(id);
    matches!(storage.len(&lock), Ok(Some(_))) && matches!(storage.try_lock(&lock), Ok(None))
}

/// Whether a running session polls.
pub fn a_session_polls(storage: &dyn Storage) -> bool {
    sessions(storage).iter().any(|session| session.alive && session.file.leads)
}

/// The consumers that running sessions read as.
pub fn living_consumers(storage: &dyn Storage) -> Vec<String> {
    let alive = sessions(storage).into_iter().filter(|session| session.alive);
    alive.flat_map(|session| session.file.consumers).collect()
}

/// Reads one of these files; `None` where it is missing or broken.
pub fn read<T: DeserializeOwned>(storage: &dyn Storage, path: &str) -> Option<T> {
    serde_json::from_slice(&read_whole(storage, path, FILE_BYTES_MAX).ok()??).ok()
}

/// Writes the leader's report. Returns whether it was written.
pub fn write_status(storage: &dyn Storage, status: &StatusFile) -> bool {
    write(storage, STATUS_FILE, status)
}

/// Writes a session's report. Returns whether it was written.
pub fn write_session(storage: &dyn Storage, session: &SessionFile) -> bool {
    write(storage, &session_file(&session.id), session)
}

fn write(storage: &dyn Storage, path: &str, shape: &impl Serialize) -> bool {
    let Ok(mut bytes) = serde_json::to_vec(shape) else { return false };
    bytes.push(b'\n');
    storage.replace_derived(path, &bytes).is_ok()
}

/// The files of all sessions, running ones first.
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
