//! Which files are indexed, and how far each was read.
//!
//! It must never be believed beside an index of another generation: then both are made anew.

use std::collections::BTreeMap;
use std::io;

use entraclaw_seams::storage::{Stamp, Storage, read_whole};
use serde::{Deserialize, Serialize};

use crate::stores::{Found, Mark, Session};

/// The file of the catalog, below the home folder.
const PATH: &str = "memory/catalog.json";
/// Raised when what is indexed changes.
pub(super) const FORMAT: u32 = 2;
const BYTES_MAX: u64 = 256 * 1024 * 1024;

/// The files that are indexed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Catalog {
    format: u32,
    /// Counts the commits; the index holds the same number.
    pub(super) generation: u64,
    next: u64,
    pub(super) files: BTreeMap<u64, Entry>,
    /// How many rules of what is forgotten the index follows.
    pub(super) rules: usize,
}

/// A file that was read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) mark: Mark,
    /// Whether nothing of it is indexed.
    pub(super) is_forgotten: bool,
}

impl Entry {
    /// Forgets what it is about. How far it was read stays known, so that it is not read at every query.
    pub(super) fn forget(&mut self) {
        self.is_forgotten = true;
        let session = &mut self.mark.session;
        (session.title, session.folder) = (None, None);
    }
}

impl Default for Catalog {
    fn default() -> Self {
        Self { format: FORMAT, generation: 0, next: 0, files: BTreeMap::new(), rules: 0 }
    }
}

impl Catalog {
    /// The catalog of the last commit; an empty one if there is none that can be used.
    pub(super) fn load(storage: &dyn Storage) -> io::Result<Self> {
        let bytes = read_whole(storage, PATH, BYTES_MAX)?.unwrap_or_default();
        let found: Option<Self> = serde_json::from_slice(&bytes).ok();
        Ok(found.filter(|catalog| catalog.format == FORMAT).unwrap_or_default())
    }

    /// Differs after every commit.
    pub(super) fn stamp(storage: &dyn Storage) -> io::Result<Option<Stamp>> {
        storage.stamp(PATH)
    }

    pub(super) fn save(&self, storage: &dyn Storage) -> io::Result<()> {
        storage.create_dir("memory")?;
        storage.replace(PATH, &serde_json::to_vec(self).map_err(io::Error::other)?)
    }

    /// Forgets every file, so that all are read again.
    pub(super) fn begin_anew(&mut self) {
        *self = Self { generation: self.generation, ..Self::default() };
    }

    /// A number that no file has had.
    pub(super) fn next_number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

/// What names a session among those of all agents.
pub(super) fn key(session: &Session) -> String {
    format!("{}/{}", session.agent.as_str(), session.id)
}

/// The file of a session.
pub(super) fn found(session: &Session) -> Found {
    Found { agent: session.agent, path: session.file.clone() }
}
