//! What the memory is made of, and how it fails.
//!
//! It must never name a path outside the home folder.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use entraclaw_seams::clock::Clock;
use entraclaw_seams::storage::Storage;

use crate::files::Files;
use crate::meanings::MeaningsError;
use crate::stores::Homes;

/// Where the index is.
#[derive(Debug, Clone)]
pub enum IndexPlace {
    /// A folder below the home folder, which belongs to this user alone.
    Folder(PathBuf),
    /// The memory of this process.
    Memory,
}

/// What [`Memory`](super::Memory) is made of.
pub struct MemoryParts {
    /// The home folder.
    pub storage: Arc<dyn Storage>,
    /// The files of the agents.
    pub files: Arc<dyn Files>,
    /// Where the agents keep their sessions.
    pub homes: Homes,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Where the index is.
    pub index: IndexPlace,
    /// The folder of a table of meanings, for questions that use other words than the answer.
    pub meanings: Option<PathBuf>,
}

/// Why the memory can't be searched.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The home folder fails.
    #[error("the folder of the search can't be used: {0}; check its disk and its permissions")]
    Disk(#[from] io::Error),
    /// The index fails.
    #[error(
        "the index of the search fails: {0}; remove the folder `memory/index` in the home folder, it is made anew"
    )]
    Index(#[from] tantivy::TantivyError),
    /// The table of meanings can't be used.
    #[error("{0}")]
    Meanings(#[from] MeaningsError),
    /// What is to be forgotten can't be read.
    #[error(
        "`memory/forgotten.json` in the home folder says what must not be found, and can't be read: {0}; put back \
         an earlier one, or remove it and forget those things anew"
    )]
    Forgotten(io::Error),
    /// Nothing was named that could be forgotten.
    #[error("nothing is named that could be forgotten; name a session, a folder below the root, or words")]
    Nothing,
}
