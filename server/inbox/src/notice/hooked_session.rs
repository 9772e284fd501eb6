//! The state of a host's session between two of its hooks: how often the end of its turn was held up in a
//! row, and whether it has begun before.
//!
//! Each session has its own file, so that two sessions which run their hooks at the same moment must never
//! count for each other.

use std::io;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::NoticeParts;
use crate::journal::ConsumerName;
use crate::sessions::{read, sessions};
use entraclaw_seams::storage::read_whole;

const FOLDER: &str = "hooks";
const FILE_BYTES_MAX: u64 = 4_096;
/// The most sessions of one consumer that are remembered; the session whose hook ran longest ago is
/// forgotten.
const SESSIONS_MAX: usize = 64;
/// The most running servers that are remembered for the start of a session without an id.
const SERVERS_MAX: usize = 16;
/// How many bytes of the hash of a session's id name its file.
const NAME_BYTES: usize = 12;

/// Kinds of start after which the model has lost what it was told.
const EMPTYING_SOURCES: [&str; 2] = ["clear", "compact"];

/// The stored state of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Row {
    /// How many ends of a turn in a row were held up.
    blocks: u32,
    /// Whether the session's start was answered.
    has_begun: bool,
    /// The servers that ran at that start; only for a host that gives no session id.
    servers: Vec<String>,
    /// When this was written.
    at: Option<Timestamp>,
}

/// A host's session, as the hook's input identifies it.
pub(super) struct HookedSession<'a> {
    parts: &'a NoticeParts,
    consumer: &'a ConsumerName,
    folder: String,
    path: String,
    has_id: bool,
    row: Row,
    is_new: bool,
}

impl<'a> HookedSession<'a> {
    /// Reads the stored state. A state that can't be read counts as missing.
    pub(super) fn of(
        parts: &'a NoticeParts,
        consumer: &'a ConsumerName,
        stdin: &Value,
    ) -> Result<Self, String> {
        let id = ["session_id", "sessionId"].iter().find_map(|name| stdin.get(name).and_then(Value::as_str));
        let id = id.filter(|id| !id.is_empty());
        let digest = Sha256::digest(id.unwrap_or_default().as_bytes());
        let name = entraclaw_seams::hex::of(&digest[..NAME_BYTES]);
        let folder = format!("{FOLDER}/{consumer}");
        let path = format!("{folder}/{name}.json");
        let known = read_whole(&*parts.storage, &path, FILE_BYTES_MAX).map_err(failed)?;
        let row: Option<Row> = known.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let (is_new, row) = (row.is_none(), row.unwrap_or_default());
        Ok(Self { parts, consumer, folder, path, has_id: id.is_some(), row, is_new })
    }

    /// Returns whether the end of the turn may be held up once more, and notes that it is.
    pub(super) fn may_hold(mut self, stdin: &Value, in_a_row_max: u32) -> Result<bool, String> {
        let is_held_already = stdin.get("stop_hook_active").and_then(Value::as_bool) == Some(true);
        let blocks = if is_held_already { self.row.blocks } else { 0 };
        if blocks >= in_a_row_max {
            return Ok(false);
        }
        self.row.blocks = blocks + 1;
        self.keep()?;
        Ok(true)
    }

    /// Returns whether this start belongs to a session that has begun before and still knows what it was
    /// told, and notes that it has begun. Some hosts run the hook of the start with every prompt.
    ///
    /// For a host that gives no session id, the session has begun before if every running server of the
    /// consumer also ran at the earlier start.
    pub(super) fn begins_again(mut self, stdin: &Value) -> Result<bool, String> {
        let source = stdin.get("source").and_then(Value::as_str).unwrap_or_default();
        let servers = if self.has_id { Vec::new() } else { self.living_servers() };
        let is_same = self.has_id
            || (!servers.is_empty() && servers.iter().all(|server| self.row.servers.contains(server)));
        if self.row.has_begun && is_same && !EMPTYING_SOURCES.contains(&source) {
            return Ok(true);
        }
        self.row.has_begun = true;
        self.row.servers = servers;
        self.keep()?;
        Ok(false)
    }

    fn living_servers(&self) -> Vec<String> {
        let sessions = sessions(&*self.parts.storage).into_iter().filter(|session| session.alive);
        let ours = sessions
            .filter(|session| session.file.consumers.iter().any(|name| name == self.consumer.as_str()));
        ours.map(|session| session.file.id).take(SERVERS_MAX).collect()
    }

    fn keep(mut self) -> Result<(), String> {
        self.row.at = Some(self.parts.clock.now());
        let bytes = serde_json::to_vec(&self.row).map_err(|error| error.to_string())?;
        let storage = &self.parts.storage;
        storage.create_dir(&self.folder).map_err(failed)?;
        if self.is_new {
            self.make_room().map_err(failed)?;
        }
        storage.replace_derived(&self.path, &bytes).map_err(failed)
    }

    /// Forgets the sessions whose hooks ran longest ago, to make room for one more.
    fn make_room(&self) -> io::Result<()> {
        let storage = &self.parts.storage;
        let names = storage.list(&self.folder)?;
        if names.len() < SESSIONS_MAX {
            return Ok(());
        }
        let mut known = Vec::new();
        for name in names {
            let path = format!("{}/{name}", self.folder);
            let row: Option<Row> = read(&**storage, &path);
            known.push((row.and_then(|row| row.at), path));
        }
        known.sort();
        for (_, path) in known.iter().take(known.len() + 1 - SESSIONS_MAX) {
            storage.remove(path)?;
        }
        Ok(())
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn failed(error: io::Error) -> String {
    format!("the hook's own file can't be kept: {error}")
}
