//! What is kept of the databases that were asked last, for the next question.
//!
//! It must never hold a file open: what is deleted takes room as long as it is.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::log::Log;
use super::{Bytes, Database, Learnt};
use crate::files::{Files, Standing};

/// So many databases are kept: an agent has one or two, and an editor one for each folder.
const DATABASES_MAX: usize = 4;

/// Which moment of a database is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// As it is now.
    Now,
    /// As it was at the last question, as long as that can still be read.
    Before,
}

/// What is kept of one database.
#[derive(Clone)]
pub(super) struct Kept {
    pub(super) log: Option<Log>,
    pub(super) standing: Standing,
    pub(super) changes: [u8; 4],
    pub(super) learnt: Learnt,
}

/// The databases that were asked last, the last one first.
pub(in crate::files) struct KeptDatabases(Mutex<Vec<(PathBuf, Kept)>>);

impl KeptDatabases {
    pub(in crate::files) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Opens a database, if there is one. What was read of its log before is not read again, and what was learnt of it
    /// stays known if it stands as before.
    pub(in crate::files) fn open(
        &self,
        files: &dyn Files,
        path: &Path,
        moment: Moment,
        bytes: impl Fn(&Path) -> io::Result<Option<Arc<dyn Bytes>>>,
    ) -> io::Result<Option<Database>> {
        let before = self.take(path);
        let database = Database::open(files, path, before.as_ref(), moment, bytes)?;
        if let Some(database) = &database {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            kept.retain(|(known, _)| known != path);
            kept.insert(0, (path.to_owned(), database.kept()));
            kept.truncate(DATABASES_MAX);
        }
        Ok(database)
    }

    fn take(&self, path: &Path) -> Option<Kept> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|(known, _)| known == path).map(|(_, kept)| kept.clone())
    }
}
