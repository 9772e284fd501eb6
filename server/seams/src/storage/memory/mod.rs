//! A disk in memory that can lose power, run full, fail, and be shared by several simulated processes.
//!
//! It keeps two images: the bytes that programs see, and those that a power cut leaves. It must never touch a real file.

mod disk;

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use self::disk::{Disk, Inode};
use super::{AppendFile, Changes, Lock, Stamp, Storage, check_path};

/// How a simulated machine ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Crash {
    /// Every process ends, as by `kill -9`; everything written stays.
    Process,
    /// The power fails. A seeded part of the unsynced bytes stays, whole, cut, or as zeros.
    Power,
}

/// A fault at a chosen call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The call fails with this kind. A write leaves half of its bytes. A failed sync loses the bytes that it should have
    /// kept, and a later sync does not report that.
    Error(io::ErrorKind),
    /// The calling process ends in the call. A write leaves half of its bytes.
    Kill,
    /// The power fails in the call; the seed chooses which bytes stay.
    PowerCut(u64),
}

/// One process's view of a disk in memory. A clone belongs to the same process.
#[derive(Debug, Clone)]
pub struct MemoryStorage {
    disk: Arc<Mutex<Disk>>,
    process: u64,
}

impl Default for MemoryStorage {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryStorage {
    /// Makes an empty disk and its first process.
    pub fn new() -> Self {
        let mut disk = Disk::default();
        let process = disk.start_process();
        Self { disk: Arc::new(Mutex::new(disk)), process }
    }

    /// Starts another process on the same disk.
    #[must_use]
    pub fn new_process(&self) -> Self {
        let process = self.locked().start_process();
        Self { disk: Arc::clone(&self.disk), process }
    }

    /// Ends this process: its locks are released, and its later calls fail.
    pub fn kill(&self) {
        self.locked().kill(self.process);
    }

    /// Whether this process still runs.
    pub fn is_alive(&self) -> bool {
        self.locked().is_alive(self.process)
    }

    /// Ends every process; go on with [`MemoryStorage::new_process`]. `seed` chooses which bytes survive a power cut.
    pub fn crash(&self, crash: Crash, seed: u64) {
        self.locked().crash(crash, seed);
    }

    /// Sets `fault` for the `n`th call from now, counted from 0.
    pub fn fail_call(&self, n: u64, fault: Fault) {
        let mut disk = self.locked();
        disk.fault = Some((disk.calls + n, fault));
    }

    /// Cancels a fault. Returns whether it had not happened yet.
    pub fn clear_fault(&self) -> bool {
        self.locked().fault.take().is_some()
    }

    /// Lets writes fail with `StorageFull` after so many more bytes; the failing write leaves a part. `None` ends that.
    pub fn set_space_left(&self, bytes: Option<u64>) {
        self.locked().space_left = bytes;
    }

    /// Sets whether every sync fails.
    pub fn set_syncs_fail(&self, fail: bool) {
        self.locked().syncs_fail = fail;
    }

    /// The number of calls so far, by all processes.
    pub fn calls(&self) -> u64 {
        self.locked().calls
    }

    /// The paths of all files, sorted.
    pub fn paths(&self) -> Vec<String> {
        self.locked().names.keys().cloned().collect()
    }

    /// The names of the files in a folder, sorted; in the home folder itself when it is empty.
    pub fn files(&self, folder: &str) -> Vec<String> {
        let below = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let disk = self.locked();
        let names = disk.names.range(below.clone()..).map_while(|(path, _)| path.strip_prefix(&below));
        names.filter(|name| !name.contains('/')).map(str::to_owned).collect()
    }

    /// The bytes of a file as programs see them, or `None` if there is no such file.
    pub fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        let disk = self.locked();
        disk.names.get(path).map(|inode| disk.node(*inode).seen.clone())
    }

    /// Adds a durable file, and its folders.
    pub fn set_bytes(&self, path: &str, bytes: &[u8]) {
        self.locked().plant(path, bytes);
    }

    /// Checks the path and counts a call on it.
    fn enter(&self, path: &str) -> io::Result<MutexGuard<'_, Disk>> {
        check_path(path)?;
        let mut disk = self.locked();
        disk.enter(self.process)?;
        Ok(disk)
    }

    fn locked(&self) -> MutexGuard<'_, Disk> {
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Storage for MemoryStorage {
    fn create_dir(&self, dir: &str) -> io::Result<()> {
        self.enter(dir)?.create_dir(dir);
        Ok(())
    }

    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        Ok(self.enter(dir)?.list(dir))
    }

    fn len(&self, path: &str) -> io::Result<Option<u64>> {
        let disk = self.enter(path)?;
        Ok(disk.names.get(path).map(|inode| disk.node(*inode).seen.len() as u64))
    }

    fn stamp(&self, path: &str) -> io::Result<Option<Stamp>> {
        let disk = self.enter(path)?;
        Ok(disk.names.get(path).map(|inode| {
            let node = disk.node(*inode);
            Stamp([*inode, node.seen.len() as u64, u64::from(node.checksum()), 0])
        }))
    }

    fn read(&self, path: &str, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let disk = self.enter(path)?;
        let seen = &disk.node(disk.find(path)?).seen;
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(seen.len());
        Ok(seen[start..start.saturating_add(len).min(seen.len())].to_vec())
    }

    fn append(&self, path: &str, create: bool) -> io::Result<Box<dyn AppendFile>> {
        let mut disk = self.enter(path)?;
        let inode = if create { disk.find_or_create(path)? } else { disk.find(path)? };
        Ok(Box::new(MemoryFile { storage: self.clone(), inode, path: path.to_owned() }))
    }

    fn replace(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        check_path(path)?;
        self.locked().replace(self.process, path, bytes, true)
    }

    fn replace_derived(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        check_path(path)?;
        self.locked().replace(self.process, path, bytes, false)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        check_path(to)?;
        self.enter(from)?.rename(from, to)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        let mut disk = self.enter(path)?;
        disk.note_change();
        disk.names.remove(path);
        Ok(())
    }

    fn remove_dir(&self, dir: &str) -> io::Result<()> {
        self.enter(dir)?.remove_dir(dir)
    }

    fn try_lock(&self, path: &str) -> io::Result<Option<Box<dyn Lock>>> {
        let mut disk = self.enter(path)?;
        disk.find_or_create(path)?;
        let taken = disk.take_lock(path, self.process);
        drop(disk);
        Ok(taken.map(|id| -> Box<dyn Lock> {
            Box::new(MemoryLock { storage: self.clone(), path: path.to_owned(), id })
        }))
    }

    fn changes(&self, _dir: &str) -> Option<Changes> {
        self.every_change()
    }

    fn every_change(&self) -> Option<Changes> {
        Some(self.locked().listen())
    }

    /// On a single thread no process can release a lock during the wait, so this tries once.
    fn lock(&self, path: &str, _wait_ms: u64) -> io::Result<Option<Box<dyn Lock>>> {
        self.try_lock(path)
    }
}

struct MemoryFile {
    storage: MemoryStorage,
    inode: Inode,
    path: String,
}

impl AppendFile for MemoryFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.storage.locked().append(self.storage.process, self.inode, bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.storage.locked().sync(self.storage.process, self.inode, &self.path)
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        let mut disk = self.storage.locked();
        disk.enter(self.storage.process)?;
        disk.truncate(self.inode, len);
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        let mut disk = self.storage.locked();
        disk.enter(self.storage.process)?;
        Ok(disk.node(self.inode).seen.len() as u64)
    }
}

struct MemoryLock {
    storage: MemoryStorage,
    path: String,
    id: u64,
}

impl Lock for MemoryLock {}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        self.storage.locked().release_lock(&self.path, self.id);
    }
}

#[cfg(test)]
mod tests;
