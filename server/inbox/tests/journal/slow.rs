//! A process that is held up at a call of its disk, while others do what they like: one interleaving, by choice.

use std::io;
use std::sync::{Arc, Mutex};

use entraclaw_seams::storage::{AppendFile, Changes, Lock, MemoryStorage, Stamp, Storage};

/// At which of its calls a process is held up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum At {
    /// Before it lists a folder.
    List,
    /// Before it takes a lock for an operation.
    Lock,
}

/// What others do meanwhile, once.
type Meanwhile = Arc<Mutex<Option<(At, Box<dyn FnOnce() + Send>)>>>;

/// A process that can be held up.
#[derive(Clone)]
pub(crate) struct Slow {
    disk: MemoryStorage,
    meanwhile: Meanwhile,
}

impl Slow {
    pub(crate) fn new(disk: MemoryStorage) -> Self {
        Self { disk, meanwhile: Meanwhile::default() }
    }

    /// The next time that it comes there, this happens first.
    pub(crate) fn before(&self, at: At, happens: impl FnOnce() + Send + 'static) {
        *self.meanwhile.lock().unwrap() = Some((at, Box::new(happens)));
    }

    /// Whether what is to happen has not happened yet.
    pub(crate) fn waits(&self) -> bool {
        self.meanwhile.lock().unwrap().is_some()
    }

    fn comes_to(&self, at: At) {
        let happens = self.meanwhile.lock().unwrap().take_if(|(there, _)| *there == at);
        if let Some((_, happens)) = happens {
            happens();
        }
    }
}

impl Storage for Slow {
    fn create_dir(&self, dir: &str) -> io::Result<()> {
        self.disk.create_dir(dir)
    }

    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        self.comes_to(At::List);
        self.disk.list(dir)
    }

    fn len(&self, path: &str) -> io::Result<Option<u64>> {
        self.disk.len(path)
    }

    fn stamp(&self, path: &str) -> io::Result<Option<Stamp>> {
        self.disk.stamp(path)
    }

    fn read(&self, path: &str, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        self.disk.read(path, offset, len)
    }

    fn append(&self, path: &str, create: bool) -> io::Result<Box<dyn AppendFile>> {
        self.disk.append(path, create)
    }

    fn replace(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.disk.replace(path, bytes)
    }

    fn replace_derived(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.disk.replace_derived(path, bytes)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.disk.remove(path)
    }

    fn try_lock(&self, path: &str) -> io::Result<Option<Box<dyn Lock>>> {
        self.disk.try_lock(path)
    }

    fn lock(&self, path: &str, wait_ms: u64) -> io::Result<Option<Box<dyn Lock>>> {
        self.comes_to(At::Lock);
        self.disk.lock(path, wait_ms)
    }

    fn changes(&self, dir: &str) -> Option<Changes> {
        self.disk.changes(dir)
    }
}
