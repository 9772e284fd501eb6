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

#[cfg(test)]
mod tests {
    use entraclaw_seams::storage::MemoryStorage;

    use super::super::machine::{Machine, session};
    use super::*;

    #[test]
    fn a_catalog_is_what_was_saved_last_and_an_empty_one_where_it_can_not_be_used() {
        let storage = MemoryStorage::new();
        assert_eq!(Catalog::load(&storage).unwrap().generation, 0);
        assert_eq!(Catalog::stamp(&storage).unwrap(), None);
        let mut catalog = Catalog { generation: 7, rules: 3, ..Catalog::default() };
        catalog.next_number();
        catalog.save(&storage).unwrap();
        let stamp = Catalog::stamp(&storage).unwrap();
        assert!(stamp.is_some());
        let mut loaded = Catalog::load(&storage).unwrap();
        assert_eq!((loaded.generation, loaded.rules, loaded.next_number()), (7, 3, 2));
        Catalog { format: FORMAT + 1, ..catalog }.save(&storage).unwrap();
        assert_eq!(Catalog::load(&storage).unwrap().generation, 0);
        assert_ne!(Catalog::stamp(&storage).unwrap(), stamp);
        storage.set_bytes(PATH, b"{");
        assert_eq!(Catalog::load(&storage).unwrap().generation, 0);
    }

    #[test]
    fn a_catalog_that_begins_anew_keeps_the_count_of_its_commits_alone() {
        let machine = Machine::new();
        machine.say("one", "user", "alpha", None);
        let mut memory = machine.open();
        memory.refresh().unwrap();
        let mut catalog = Catalog { generation: 7, rules: 3, ..memory.catalog.clone() };
        assert_eq!((catalog.next_number(), catalog.next_number()), (2, 3));
        catalog.begin_anew();
        assert_eq!((catalog.generation, catalog.rules, catalog.files.len()), (7, 0, 0));
        assert_eq!(catalog.next_number(), 1);
    }

    #[test]
    fn what_is_forgotten_of_a_file_is_what_it_is_about() {
        let machine = Machine::new();
        machine.say("one", "user", "alpha", None);
        let mut memory = machine.open();
        memory.refresh().unwrap();
        let entry = memory.catalog.files.values_mut().next().unwrap();
        entry.mark.session.folder = Some("/home/alice".to_owned());
        entry.forget();
        let session = &entry.mark.session;
        assert_eq!((entry.is_forgotten, &session.title, &session.folder), (true, &None, &None));
        assert_eq!(session.id, "one");
    }

    #[test]
    fn a_session_is_named_by_its_agent_and_its_id() {
        let session = session("one", None, "/a");
        assert_eq!(key(&session), "claude/one");
        assert_eq!(found(&session), Found { agent: session.agent, path: "/a".into() });
    }
}
