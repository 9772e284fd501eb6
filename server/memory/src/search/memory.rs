//! The index of all sessions, kept up to date by each process that asks.
//!
//! A query first reads what the files have gained. A little is held beside the index and found there; much is committed.
//! It must never hold two processes' commits at once: a lock in the home folder decides whose turn it is.

use std::io;

use entraclaw_seams::storage::{Lock, Stamp};
use tantivy::directory::{MmapDirectory, RamDirectory};
use tantivy::{Index, IndexReader, IndexWriter, ReloadPolicy, Term};

use super::catalog::Catalog;
use super::fresh::Fresh;
use super::parts::{IndexPlace, MemoryError, MemoryParts};
use super::schema::{Fields, WORDS, analyzer, schema};

/// Memory of the writer.
const WRITER_BYTES: usize = 24 * 1024 * 1024;
/// How long the beginning of an index waits for another process.
const TURN_WAIT_MS: u64 = 30_000;
const LOCK: &str = "memory/lock";

/// All sessions of this machine.
pub struct Memory {
    pub(super) parts: MemoryParts,
    index: Index,
    pub(super) reader: IndexReader,
    pub(super) fields: Fields,
    pub(super) catalog: Catalog,
    /// The file of the catalog when it was last read or written.
    seen: Option<Stamp>,
    pub(super) fresh: Vec<Fresh>,
    /// Numbers of files that count no more, whose messages the index still holds.
    pub(super) dead: Vec<u64>,
}

impl Memory {
    /// Opens the index, and makes it if there is none of this format.
    pub fn open(parts: MemoryParts) -> Result<Self, MemoryError> {
        let (schema, fields) = schema();
        let make = |place: &IndexPlace| -> Result<Index, tantivy::TantivyError> {
            match place {
                IndexPlace::Folder(folder) => {
                    Index::open_or_create(MmapDirectory::open(folder)?, schema.clone())
                }
                IndexPlace::Memory => Index::open_or_create(RamDirectory::create(), schema.clone()),
            }
        };
        let index = make(&parts.index)?;
        index.tokenizers().register(WORDS, analyzer());
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let seen = Catalog::stamp(&*parts.storage)?;
        let catalog = Catalog::load(&*parts.storage)?;
        let mut memory =
            Self { parts, index, reader, fields, catalog, seen, fresh: Vec::new(), dead: Vec::new() };
        if memory.generation()? != memory.catalog.generation {
            memory.begin_anew()?;
        }
        Ok(memory)
    }

    /// The number of the commit that the index holds.
    fn generation(&self) -> Result<u64, MemoryError> {
        let payload = self.index.load_metas()?.payload;
        Ok(payload.and_then(|payload| payload.parse().ok()).unwrap_or(0))
    }

    /// Empties an index that its catalog does not belong to: another format, a crash between the two, or a removed file.
    fn begin_anew(&mut self) -> Result<(), MemoryError> {
        self.parts.storage.create_dir("memory")?;
        let Some(_lock) = self.parts.storage.lock(LOCK, TURN_WAIT_MS)? else {
            let problem = "another process has indexed the sessions for long; try again";
            return Err(io::Error::new(io::ErrorKind::WouldBlock, problem).into());
        };
        // The other process may have finished meanwhile.
        self.catalog = Catalog::load(&*self.parts.storage)?;
        self.reader.reload()?;
        if self.generation()? == self.catalog.generation {
            return Ok(());
        }
        self.catalog.begin_anew();
        let writer = self.writer()?;
        writer.delete_all_documents()?;
        self.commit(writer)
    }

    /// Takes over what another process has committed. What waits here is in it, or is read again.
    pub(super) fn catch_up(&mut self) -> Result<(), MemoryError> {
        let now = Catalog::stamp(&*self.parts.storage)?;
        if now == self.seen {
            return Ok(());
        }
        self.seen = now;
        let catalog = Catalog::load(&*self.parts.storage)?;
        if catalog.generation != self.catalog.generation {
            self.catalog = catalog;
            self.fresh.clear();
            self.dead.clear();
            self.reader.reload()?;
        }
        Ok(())
    }

    /// Takes the turn to commit; `None` if another process has it, or has had it since the last look.
    pub(super) fn turn(&self) -> Result<Option<Box<dyn Lock>>, MemoryError> {
        self.parts.storage.create_dir("memory")?;
        let lock = self.parts.storage.try_lock(LOCK)?;
        let is_current = Catalog::stamp(&*self.parts.storage)? == self.seen;
        Ok(lock.filter(|_| is_current))
    }

    pub(super) fn writer(&self) -> Result<IndexWriter, MemoryError> {
        Ok(self.index.writer_with_num_threads(1, WRITER_BYTES)?)
    }

    pub(super) fn commit(&mut self, mut writer: IndexWriter) -> Result<(), MemoryError> {
        for number in std::mem::take(&mut self.dead) {
            writer.delete_term(Term::from_field_u64(self.fields.file, number));
        }
        self.catalog.generation += 1;
        let mut commit = writer.prepare_commit()?;
        commit.set_payload(&self.catalog.generation.to_string());
        commit.commit()?;
        self.catalog.save(&*self.parts.storage)?;
        self.seen = Catalog::stamp(&*self.parts.storage)?;
        writer.wait_merging_threads()?;
        self.reader.reload()?;
        Ok(())
    }
}
