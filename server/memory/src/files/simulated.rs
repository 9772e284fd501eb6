//! The files of a simulated machine, on the same disk as its home folder, so that one crash hits both.
//!
//! It must never touch a real file.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use entraclaw_seams::clock::Clock;
use entraclaw_seams::storage::{AppendFile, MemoryStorage, Storage};
use jiff::Timestamp;

use super::{ContextFiles, Files, Standing};

/// One process's view of the files. Paths are absolute, with `/`. A folder exists as long as a file is below it.
#[derive(Clone)]
pub struct SimulatedFiles {
    storage: MemoryStorage,
    clock: Arc<dyn Clock>,
}

impl SimulatedFiles {
    /// The files of a simulated disk. Each counts as written now.
    pub fn new(storage: MemoryStorage, clock: Arc<dyn Clock>) -> Self {
        Self { storage, clock }
    }

    /// The path on the simulated disk, which has no root of its own.
    fn path(path: &Path) -> io::Result<String> {
        let mut parts = Vec::new();
        for part in path.components() {
            match part {
                Component::Normal(part) => parts.push(part.to_str().ok_or(io::ErrorKind::InvalidInput)?),
                Component::RootDir | Component::Prefix(_) => {}
                Component::CurDir | Component::ParentDir => return Err(io::ErrorKind::InvalidInput.into()),
            }
        }
        Ok(parts.join("/"))
    }

    fn below(&self, path: &str) -> bool {
        let below = format!("{path}/");
        self.storage.paths().iter().any(|known| known.starts_with(&below))
    }
}

impl Files for SimulatedFiles {
    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        self.storage.list(&Self::path(folder)?)
    }

    fn look(&self, path: &Path) -> io::Result<Option<Standing>> {
        let path = Self::path(path)?;
        let Some(bytes) = self.storage.len(&path)? else { return Ok(None) };
        Ok(Some(Standing { bytes, modified: self.now(), identity: 0 }))
    }

    fn exists(&self, path: &Path) -> bool {
        Self::path(path).is_ok_and(|path| self.storage.paths().contains(&path) || self.below(&path))
    }

    fn folder(&self, path: &Path) -> Option<PathBuf> {
        Self::path(path).ok().filter(|found| self.below(found)).map(|_| path.to_owned())
    }

    fn read(&self, path: &Path, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        self.storage.read(&Self::path(path)?, offset, len)
    }
}

impl SimulatedFiles {
    fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

impl ContextFiles for SimulatedFiles {
    fn open(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.storage.append(&Self::path(path)?, false)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        let path = Self::path(path)?;
        if self.storage.len(&path)?.is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.storage.append(&path, true)
    }
}
