//! Careless ways to read and write the files of others. It must never fail a call: that a server sees.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use entraclaw_memory::files::{ContextFiles, Database, Files, Moment, News, Standing};
use entraclaw_seams::storage::AppendFile;

/// The fault of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// What is written to a context file is never synced.
    NeverSyncs,
    /// Entries of the editor's log that push are not understood.
    MissesPushes,
    /// No change is told.
    TellsNothing,
}

/// Files with a fault.
pub(super) struct FaultyFiles {
    pub(super) inner: Arc<dyn ContextFiles>,
    pub(super) fault: Fault,
}

impl Files for FaultyFiles {
    fn list(&self, folder: &Path) -> io::Result<Arc<[String]>> {
        self.inner.list(folder)
    }

    fn look(&self, path: &Path) -> io::Result<Option<Standing>> {
        self.inner.look(path)
    }

    fn exists(&self, path: &Path) -> bool {
        self.inner.exists(path)
    }

    fn folder(&self, path: &Path) -> Option<PathBuf> {
        self.inner.folder(path)
    }

    fn database(&self, path: &Path, moment: Moment) -> io::Result<Option<Database>> {
        self.inner.database(path, moment)
    }

    fn read(&self, path: &Path, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let bytes = self.inner.read(path, offset, len)?;
        if self.fault != Fault::MissesPushes {
            return Ok(bytes);
        }
        Ok(String::from_utf8_lossy(&bytes).replace("\"kind\":2", "\"kind\":9").into_bytes())
    }

    fn news(&self, folders: &[PathBuf]) -> News {
        if self.fault == Fault::TellsNothing { News::default() } else { self.inner.news(folders) }
    }
}

impl ContextFiles for FaultyFiles {
    fn open(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.inner.open(path).map(|file| self.written(file))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.inner.create(path).map(|file| self.written(file))
    }
}

impl FaultyFiles {
    fn written(&self, file: Box<dyn AppendFile>) -> Box<dyn AppendFile> {
        if self.fault == Fault::NeverSyncs { Box::new(Unsynced(file)) } else { file }
    }
}

struct Unsynced(Box<dyn AppendFile>);

impl AppendFile for Unsynced {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.append(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.0.truncate(len)
    }

    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }
}
