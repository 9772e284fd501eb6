//! The index of all sessions, kept up to date by each process that asks.
//!
//! A query first reads what the files have gained. A little is held beside the index and found there; much is committed.
//! It must never hold two processes' commits at once: a lock in the home folder decides whose turn it is.

use std::io;
use std::sync::Arc;

use entraclaw_seams::storage::{Lock, Stamp};
use tantivy::directory::RamDirectory;
use tantivy::index::SegmentId;
use tantivy::indexer::NoMergePolicy;
use tantivy::{Index, IndexReader, IndexWriter, ReloadPolicy, TantivyError, Term};

use super::catalog::Catalog;
use super::folder::PrivateFolder;
use super::forgotten::Rules;
use super::fresh::Fresh;
use super::groups::Groups;
use super::pace::{Pace, joined, policy, worn};
use super::parts::{IndexPlace, MemoryError, MemoryParts};
use super::schema::{Fields, STEMS, analyzer, schema};
use crate::meanings::Meanings;

/// Messages of a commit that are much for an index that is not large.
const MUCH: usize = 20_000;
/// How long the beginning of an index waits for another process.
pub(super) const TURN_WAIT_MS: u64 = 30_000;
pub(super) const LOCK: &str = "memory/lock";

/// All sessions of this machine.
pub struct Memory {
    pub(super) parts: MemoryParts,
    index: Index,
    pub(super) reader: IndexReader,
    pub(super) fields: Fields,
    pub(super) catalog: Catalog,
    pub(super) groups: Groups,
    pub(super) rules: Rules,
    /// The file of the catalog when it was last read or written.
    seen: Option<Stamp>,
    pub(super) fresh: Vec<Fresh>,
    /// Numbers of files that count no more, whose messages the index still holds.
    pub(super) dead: Vec<u64>,
    /// The table of meanings, once a question has needed it.
    meanings: Option<Arc<Meanings>>,
}

impl Memory {
    /// Opens the index, and makes it if there is none of this format.
    pub fn open(parts: MemoryParts) -> Result<Self, MemoryError> {
        let (index, reader, fields) = open_index(&parts)?;
        let seen = Catalog::stamp(&*parts.storage)?;
        let catalog = Catalog::load(&*parts.storage)?;
        let rules = Rules::load(&*parts.storage).map_err(MemoryError::Forgotten)?;
        let groups = Groups::of(&catalog);
        let (fresh, dead) = (Vec::new(), Vec::new());
        let meanings = None;
        let mut memory =
            Self { parts, index, reader, fields, catalog, groups, rules, seen, fresh, dead, meanings };
        if !memory.is_whole()? {
            memory.begin_anew()?;
        }
        Ok(memory)
    }

    /// Whether the index, its catalog and what is to be forgotten belong together.
    fn is_whole(&self) -> Result<bool, MemoryError> {
        let payload = self.index.load_metas()?.payload;
        let generation: u64 = payload.and_then(|payload| payload.parse().ok()).unwrap_or(0);
        Ok(generation == self.catalog.generation && self.catalog.rules == self.rules.rules.len())
    }

    /// Empties an index that its catalog does not belong to: another format, a crash between the two, or a removed file.
    fn begin_anew(&mut self) -> Result<(), MemoryError> {
        self.parts.storage.create_dir("memory")?;
        let Some(_lock) = self.parts.storage.lock(LOCK, TURN_WAIT_MS)? else {
            let problem = "another process has indexed the sessions for long; try again";
            return Err(io::Error::new(io::ErrorKind::WouldBlock, problem).into());
        };
        // The other process may have finished meanwhile.
        self.seen = Catalog::stamp(&*self.parts.storage)?;
        self.load()?;
        if self.is_whole()? {
            return Ok(());
        }
        self.catalog.begin_anew();
        self.groups = Groups::default();
        let mut writer = self.writer(Pace::USUAL)?;
        writer.delete_all_documents()?;
        self.save(&mut writer)?;
        self.join(writer, &[])
    }

    /// Reads what another process has written.
    fn load(&mut self) -> Result<(), MemoryError> {
        self.catalog = Catalog::load(&*self.parts.storage)?;
        self.rules = Rules::load(&*self.parts.storage).map_err(MemoryError::Forgotten)?;
        self.groups = Groups::of(&self.catalog);
        self.fresh.clear();
        self.dead.clear();
        self.reader.reload()?;
        Ok(())
    }

    /// Takes over what another process has committed. What waits here is in it, or is read again.
    pub(super) fn catch_up(&mut self) -> Result<(), MemoryError> {
        let now = Catalog::stamp(&*self.parts.storage)?;
        if now == self.seen {
            return Ok(());
        }
        self.seen = now;
        self.load()
    }

    /// The table of meanings, if there is to be one. The first question that needs it reads it.
    pub(super) fn meanings(&mut self) -> Result<Option<Arc<Meanings>>, MemoryError> {
        if let (None, Some(folder)) = (&self.meanings, &self.parts.meanings) {
            self.meanings = Some(Arc::new(Meanings::read(&*self.parts.files, folder)?));
        }
        Ok(self.meanings.clone())
    }

    /// Takes the turn to commit; `None` if another process has it, or has had it since the last look.
    pub(super) fn turn(&self) -> Result<Option<Box<dyn Lock>>, MemoryError> {
        self.parts.storage.create_dir("memory")?;
        let lock = self.parts.storage.try_lock(LOCK)?;
        let is_current = Catalog::stamp(&*self.parts.storage)? == self.seen;
        Ok(lock.filter(|_| is_current))
    }

    pub(super) fn writer(&self, pace: Pace) -> Result<IndexWriter, MemoryError> {
        let writer = self.index.writer_with_num_threads(pace.threads, pace.threads * pace.arena_bytes)?;
        if pace.is_low {
            writer.set_merge_policy(Box::new(policy()));
        } else {
            // Parts are joined here, at the end of a commit, so that no thread goes on beside a query.
            writer.set_merge_policy(Box::new(NoMergePolicy));
        }
        Ok(writer)
    }

    /// Commits `messages` messages, and ends the writing.
    pub(super) fn commit(
        &mut self,
        mut writer: IndexWriter,
        pace: Pace,
        messages: usize,
    ) -> Result<(), MemoryError> {
        self.save(&mut writer)?;
        // The writer of a low pace joins parts by itself.
        let parts = if pace.is_low {
            Vec::new()
        } else {
            joined(&self.index.searchable_segment_metas()?, messages >= MUCH)
        };
        self.join(writer, &parts)
    }

    /// Commits the index, and then the catalog that belongs to it.
    pub(super) fn save(&mut self, writer: &mut IndexWriter) -> Result<(), MemoryError> {
        for number in std::mem::take(&mut self.dead) {
            writer.delete_term(Term::from_field_u64(self.fields.file, number));
        }
        self.catalog.generation += 1;
        self.catalog.rules = self.rules.rules.len();
        let mut commit = writer.prepare_commit()?;
        commit.set_payload(&self.catalog.generation.to_string());
        commit.commit()?;
        self.catalog.save(&*self.parts.storage)?;
        self.seen = Catalog::stamp(&*self.parts.storage)?;
        Ok(())
    }

    /// Makes parts anew of which something was deleted, so that no file holds it any more.
    pub(super) fn purge(&mut self, writer: IndexWriter) -> Result<(), MemoryError> {
        let parts = worn(&self.index.searchable_segment_metas()?);
        self.join(writer, &parts)
    }

    /// Makes each of these groups of parts one, and removes the files of the old ones.
    fn join(&mut self, mut writer: IndexWriter, groups: &[Vec<SegmentId>]) -> Result<(), MemoryError> {
        for parts in groups {
            writer.merge(parts).wait()?;
        }
        // The reader lets go of the old files, so that they can be removed.
        self.reader.reload()?;
        writer.garbage_collect_files().wait()?;
        writer.wait_merging_threads()?;
        self.reader.reload()?;
        Ok(())
    }
}

type Opened = (Index, IndexReader, Fields);

/// Opens the index; one of another format or with damaged files makes place for an empty one.
fn open_index(parts: &MemoryParts) -> Result<Opened, MemoryError> {
    let folder = match &parts.index {
        IndexPlace::Folder(folder) => folder,
        IndexPlace::Memory => return Ok(made(RamDirectory::create())?),
    };
    match PrivateFolder::open(folder).and_then(made) {
        Err(error) if is_unusable(&error) => {
            parts.storage.create_dir("memory")?;
            let _lock = parts.storage.lock(LOCK, TURN_WAIT_MS)?;
            PrivateFolder::clear(folder)?;
            Ok(PrivateFolder::open(folder).and_then(made)?)
        }
        opened => Ok(opened?),
    }
}

fn made(directory: impl Into<Box<dyn tantivy::directory::Directory>>) -> Result<Opened, TantivyError> {
    let (schema, fields) = schema();
    let index = Index::open_or_create(directory, schema)?;
    index.tokenizers().register(STEMS, analyzer());
    let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
    Ok((index, reader, fields))
}

fn is_unusable(error: &TantivyError) -> bool {
    matches!(
        error,
        TantivyError::SchemaError(_)
            | TantivyError::IncompatibleIndex(_)
            | TantivyError::DataCorruption(_)
            | TantivyError::OpenReadError(_)
    )
}

#[cfg(test)]
mod tests {
    use entraclaw_seams::storage::Storage as _;
    use tantivy::directory::error::OpenReadError;
    use tantivy::error::DataCorruption;

    use super::super::machine::Machine;
    use super::*;

    #[test]
    fn only_an_index_that_can_not_be_read_makes_place_for_an_empty_one() {
        let missing = OpenReadError::FileDoesNotExist("meta.json".into());
        for (error, expected) in [
            (TantivyError::SchemaError("other".to_owned()), true),
            (TantivyError::DataCorruption(DataCorruption::comment_only("half")), true),
            (TantivyError::OpenReadError(missing), true),
            (TantivyError::InvalidArgument("none".to_owned()), false),
            (TantivyError::from(io::Error::other("no permission")), false),
        ] {
            assert_eq!(is_unusable(&error), expected, "{error}");
        }
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error_of_the_index() {
        let folder = tempfile::tempdir().unwrap();
        let index = IndexPlace::Folder(folder.path().join("none"));
        let machine = Machine::new();
        let error = machine.try_open(index).err().unwrap();
        assert!(matches!(error, MemoryError::Index(_)), "{error}");
    }

    #[test]
    fn another_process_has_the_turn_as_long_as_it_commits_and_until_its_commit_is_taken_over() {
        let machine = Machine::new();
        machine.say("one", "user", "alpha", None);
        let storage = machine.storage.new_process();
        let mut memory = machine.open();
        memory.refresh().unwrap();
        storage.create_dir("memory").unwrap();
        let turn = storage.try_lock(LOCK).unwrap().unwrap();
        assert!(memory.turn().unwrap().is_none());
        drop(turn);
        assert!(memory.turn().unwrap().is_some());
        let mut catalog = memory.catalog.clone();
        catalog.generation = 9;
        catalog.save(&storage).unwrap();
        assert!(memory.turn().unwrap().is_none(), "it has committed since the last look");
        memory.catch_up().unwrap();
        assert_eq!((memory.catalog.generation, memory.fresh.len()), (9, 0));
        assert!(memory.turn().unwrap().is_some());
    }

    #[test]
    fn what_is_current_is_not_loaded_again() {
        let machine = Machine::new();
        machine.say("one", "user", "alpha", None);
        let mut memory = machine.open();
        memory.refresh().unwrap();
        memory.catch_up().unwrap();
        assert_eq!(memory.fresh.len(), 1, "what waits stays");
        memory.flush().unwrap();
        assert_eq!((memory.fresh.len(), memory.catalog.generation), (0, 1));
        memory.flush().unwrap();
        assert_eq!(memory.catalog.generation, 1, "nothing waits");
    }

    #[test]
    fn an_index_of_another_count_of_commits_or_rules_is_made_anew() {
        let machine = Machine::new();
        machine.say("one", "user", "alpha", None);
        let mut memory = machine.open();
        memory.refresh().unwrap();
        memory.flush().unwrap();
        assert!(memory.is_whole().unwrap());
        memory.catalog.generation += 1;
        assert!(!memory.is_whole().unwrap());
        memory.catalog.generation -= 1;
        memory.catalog.rules += 1;
        assert!(!memory.is_whole().unwrap());
        memory.begin_anew().unwrap();
        assert!(memory.is_whole().unwrap());
        assert_eq!((memory.reader.searcher().num_docs(), memory.catalog.files.len()), (1, 1), "it was whole");
    }
}
