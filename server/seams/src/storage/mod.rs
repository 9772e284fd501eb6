//! The storage seam: one private folder tree, reached by relative, `/`-separated paths.
//!
//! The trait is the smallest that a durable log needs. `disk` is the real adapter, `memory` a model that can crash.
//! It must never know what a record is.

mod changes;
pub mod disk;
pub mod memory;

use std::io;

pub use changes::{Changes, Signal};
pub use disk::{DiskStorage, watch_folders};
pub use memory::{Crash, Fault, MemoryStorage};

/// A value that differs between two states of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp(pub(crate) [u64; 4]);

impl Stamp {
    /// The length of the file.
    pub fn bytes(self) -> u64 {
        self.0[1]
    }
}

/// A folder tree that belongs to this program alone. Folders 0700, files 0600.
pub trait Storage: Send + Sync {
    /// Creates a folder and its parents; an existing one is fine.
    fn create_dir(&self, dir: &str) -> io::Result<()>;
    /// Lists the names in a folder, sorted; empty if it does not exist.
    fn list(&self, dir: &str) -> io::Result<Vec<String>>;
    /// The length of a file in bytes, or `None` if there is no such file.
    fn len(&self, path: &str) -> io::Result<Option<u64>>;
    /// A stamp that changes whenever a file is replaced or written, or `None` if there is no such file. It looks at the
    /// folder once and reads nothing.
    fn stamp(&self, path: &str) -> io::Result<Option<Stamp>>;
    /// Reads up to `len` bytes from `offset`; fewer at the end of the file.
    fn read(&self, path: &str, offset: u64, len: usize) -> io::Result<Vec<u8>>;
    /// Opens a file for appending, and creates it if `create` says so. The first [`AppendFile::sync`] syncs its folder too.
    fn append(&self, path: &str, create: bool) -> io::Result<Box<dyn AppendFile>>;
    /// Replaces a file atomically: temporary sibling `<path>.tmp`, sync, rename, folder sync. The caller holds a lock if
    /// other processes may replace the same file.
    fn replace(&self, path: &str, bytes: &[u8]) -> io::Result<()>;
    /// Replaces a file as [`Storage::replace`] does, but without syncs, for a file that can be derived again. After a power
    /// cut such a file may be the old one, the new one, or empty.
    fn replace_derived(&self, path: &str, bytes: &[u8]) -> io::Result<()>;
    /// Renames a file within the tree and syncs its folder.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Renames a file within the tree without a sync, for a file that a power cut may take.
    ///
    /// # Errors
    /// Fails with the error of the disk.
    fn rename_derived(&self, from: &str, to: &str) -> io::Result<()> {
        self.rename(from, to)
    }
    /// Removes a file and syncs its folder; a missing one is fine. Not every disk keeps its promise, so a caller that could
    /// not handle the file's return after a power cut first writes down that it is removed.
    fn remove(&self, path: &str) -> io::Result<()>;
    /// Removes an empty folder; a missing one is fine.
    ///
    /// # Errors
    /// Fails with the error of the disk, or if the medium can't remove folders.
    fn remove_dir(&self, _dir: &str) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "this medium removes no folders"))
    }
    /// Takes an exclusive lock, or returns `None` if it is held. The system releases it when its process ends. The lock file
    /// is never deleted.
    fn try_lock(&self, path: &str) -> io::Result<Option<Box<dyn Lock>>>;
    /// Takes a lock, and tries again for up to `wait_ms`. For locks that are held for one short operation, and for those that
    /// others take for a moment to learn whether they are held.
    fn lock(&self, path: &str, wait_ms: u64) -> io::Result<Option<Box<dyn Lock>>>;
    /// Listens for changes in a folder. `None` if the medium can't report them; then the caller must poll.
    fn changes(&self, dir: &str) -> Option<Changes>;
    /// Listens for every attempt to change the tree, by any process. Only a simulated medium can.
    fn every_change(&self) -> Option<Changes> {
        None
    }
}

/// Reads a whole file; `None` if there is none.
///
/// # Errors
///
/// [`io::ErrorKind::FileTooLarge`] if it is longer than `bytes_max`, or the error of the disk.
pub fn read_whole(storage: &dyn Storage, path: &str, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
    let Some(length) = storage.len(path)? else { return Ok(None) };
    if length > bytes_max {
        let problem = format!("it has {length} bytes, at most {bytes_max} are read");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
    }
    storage.read(path, 0, usize::try_from(length).map_err(io::Error::other)?).map(Some)
}

/// A file that only grows, except that a torn tail can be cut.
pub trait AppendFile: Send {
    /// Writes all bytes at the end with one write call. After an error the file may hold a part of them.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Makes everything appended so far survive a power cut. A failure is final for this file.
    fn sync(&mut self) -> io::Result<()>;
    /// Cuts the file to `len` bytes.
    fn truncate(&mut self, len: u64) -> io::Result<()>;
    /// The current length in bytes.
    fn len(&self) -> io::Result<u64>;
    /// Whether the file is empty.
    fn is_empty(&self) -> io::Result<bool> {
        self.len().map(|n| n == 0)
    }
}

/// A lock, held until it is dropped.
pub trait Lock: Send {}

/// Checks that a path is relative, uses `/`, and stays inside the tree.
fn check_path(path: &str) -> io::Result<()> {
    let is_plain = |byte: &u8| !matches!(byte, b'\\' | b':' | b'\0');
    let is_name = |part: &[u8]| !matches!(part, b"" | b"." | b"..") && part.iter().all(is_plain);
    if path.as_bytes().split(|byte| *byte == b'/').all(is_name) {
        Ok(())
    } else {
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{path:?} is not a path inside the home folder"),
        ))
    }
}
