//! A disk that says yes and does less. It must never fail a call: that a server sees, and is tried elsewhere.

use std::io;

use entraclaw_seams::storage::memory::MemoryStorage;
use entraclaw_seams::storage::{AppendFile, Changes, Lock, Stamp, Storage};

/// The operation that the disk leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// Nothing is ever synced.
    NeverSyncs,
    /// Appends below this folder are dropped.
    DropsAppends(&'static str),
    /// Every lock is given to everybody.
    SharesLocks,
}

/// A disk with a fault.
pub(super) struct FaultyDisk {
    pub(super) storage: MemoryStorage,
    pub(super) fault: Fault,
}

struct FaultyFile {
    file: Box<dyn AppendFile>,
    fault: Fault,
    drops_appends: bool,
}

impl AppendFile for FaultyFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.drops_appends { Ok(()) } else { self.file.append(bytes) }
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.fault == Fault::NeverSyncs { Ok(()) } else { self.file.sync() }
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.file.truncate(len)
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
}

struct NoLock;

impl Lock for NoLock {}

impl Storage for FaultyDisk {
    fn create_dir(&self, dir: &str) -> io::Result<()> {
        self.storage.create_dir(dir)
    }

    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        self.storage.list(dir)
    }

    fn len(&self, path: &str) -> io::Result<Option<u64>> {
        self.storage.len(path)
    }

    fn stamp(&self, path: &str) -> io::Result<Option<Stamp>> {
        self.storage.stamp(path)
    }

    fn read(&self, path: &str, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        self.storage.read(path, offset, len)
    }

    fn append(&self, path: &str, create: bool) -> io::Result<Box<dyn AppendFile>> {
        let drops_appends = matches!(self.fault, Fault::DropsAppends(below) if path.starts_with(below));
        let file = self.storage.append(path, create)?;
        Ok(Box::new(FaultyFile { file, fault: self.fault, drops_appends }))
    }

    fn replace(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        if self.fault == Fault::NeverSyncs {
            return self.storage.replace_derived(path, bytes);
        }
        self.storage.replace(path, bytes)
    }

    fn replace_derived(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.storage.replace_derived(path, bytes)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.storage.rename(from, to)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.storage.remove(path)
    }

    fn try_lock(&self, path: &str) -> io::Result<Option<Box<dyn Lock>>> {
        if self.fault == Fault::SharesLocks {
            return Ok(Some(Box::new(NoLock)));
        }
        self.storage.try_lock(path)
    }

    fn lock(&self, path: &str, wait_ms: u64) -> io::Result<Option<Box<dyn Lock>>> {
        if self.fault == Fault::SharesLocks {
            return Ok(Some(Box::new(NoLock)));
        }
        self.storage.lock(path, wait_ms)
    }

    fn changes(&self, dir: &str) -> Option<Changes> {
        self.storage.changes(dir)
    }

    fn every_change(&self) -> Option<Changes> {
        self.storage.every_change()
    }
}
