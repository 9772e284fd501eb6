//! The storage seam: one private folder tree, reached by relative, `/`-separated paths.
//!
//! The trait is the smallest one a durable log needs; `disk` is the real one, `memory` a model that can crash.
//! It must never know what a record is.

mod changes;
pub mod disk;
pub mod memory;

use std::io;

pub use changes::{Changes, Signal};
pub use disk::DiskStorage;
pub use memory::{Crash, Fault, MemoryStorage};

/// Tells one state of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp(pub(crate) [u64; 4]);

impl Stamp {
    /// How long the file was.
    pub fn bytes(self) -> u64 {
        self.0[1]
    }
}

/// A folder tree that belongs to this program alone. Folders 0700, files 0600.
pub trait Storage: Send + Sync {
    /// Creates a folder and its parents; an existing one is fine.
    fn create_dir(&self, dir: &str) -> io::Result<()>;
    /// Names in a folder, sorted; empty when it does not exist.
    fn list(&self, dir: &str) -> io::Result<Vec<String>>;
    /// Length in bytes, or `None` when there is no such file.
    fn len(&self, path: &str) -> io::Result<Option<u64>>;
    /// What changes whenever a file is replaced or written to, or `None` when there is no such file. One look at the
    /// folder, nothing is read.
    fn stamp(&self, path: &str) -> io::Result<Option<Stamp>>;
    /// Up to `len` bytes from `offset`; shorter at the end of the file.
    fn read(&self, path: &str, offset: u64, len: usize) -> io::Result<Vec<u8>>;
    /// Opens for appending, creating the file when `create`. The first [`AppendFile::sync`] syncs its folder too.
    fn append(&self, path: &str, create: bool) -> io::Result<Box<dyn AppendFile>>;
    /// Replaces a file atomically: temporary sibling `<path>.tmp`, sync, rename, folder sync. Whoever may replace a
    /// file that others replace too holds a lock meanwhile.
    fn replace(&self, path: &str, bytes: &[u8]) -> io::Result<()>;
    /// As [`Storage::replace`], but without the syncs: for files that are made again from others. After a power cut
    /// such a file may be the old one, the new one, or empty.
    fn replace_derived(&self, path: &str, bytes: &[u8]) -> io::Result<()>;
    /// Renames within the tree and syncs the folder.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file and syncs its folder; a missing one is fine. Whoever could not bear to see it again after a power cut
    /// writes down first that it goes, for not every disk does what it says.
    fn remove(&self, path: &str) -> io::Result<()>;
    /// Removes a folder that is empty; a missing one is fine.
    ///
    /// # Errors
    /// What the disk says, and where the medium can't.
    fn remove_dir(&self, _dir: &str) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "this medium removes no folders"))
    }
    /// Takes an exclusive lock that the system releases when the holder dies; `None` when somebody has it.
    /// The lock file is never deleted.
    fn try_lock(&self, path: &str) -> io::Result<Option<Box<dyn Lock>>>;
    /// As [`Storage::try_lock`], but tries again for up to `wait_ms`. For locks that are held for one short operation.
    fn lock(&self, path: &str, wait_ms: u64) -> io::Result<Option<Box<dyn Lock>>>;
    /// Tells when anybody has changed something in a folder, where the medium can tell; `None` where it can't, and
    /// whoever wants to know must look.
    fn changes(&self, dir: &str) -> Option<Changes>;
    /// Tells of every attempt to change anything in the tree, whoever makes it. Only a simulated medium can.
    fn every_change(&self) -> Option<Changes> {
        None
    }
}

/// Reads a whole file; `None` when there is none.
///
/// # Errors
///
/// [`io::ErrorKind::FileTooLarge`] when it is longer than `bytes_max`, and what the disk says.
pub fn read_whole(storage: &dyn Storage, path: &str, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
    let Some(length) = storage.len(path)? else { return Ok(None) };
    if length > bytes_max {
        let problem = format!("it has {length} bytes, at most {bytes_max} are read");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
    }
    storage.read(path, 0, usize::try_from(length).map_err(io::Error::other)?).map(Some)
}

/// A file that only grows, but for cutting a torn tail.
pub trait AppendFile: Send {
    /// Writes all bytes at the end with one write call. After an error the file may hold a part of them.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Makes everything appended so far survive a power cut. A failure is final for this file.
    fn sync(&mut self) -> io::Result<()>;
    /// Cuts the file to `len` bytes.
    fn truncate(&mut self, len: u64) -> io::Result<()>;
    /// Current length in bytes.
    fn len(&self) -> io::Result<u64>;
    /// Whether nothing has been written.
    fn is_empty(&self) -> io::Result<bool> {
        self.len().map(|n| n == 0)
    }
}

/// Held until dropped.
pub trait Lock: Send {}

/// Checks that a path is relative, uses `/`, and stays inside the tree.
fn check_path(path: &str) -> io::Result<()> {
    let plain =
        |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains(['\\', ':', '\0']);
    if path.split('/').all(plain) {
        Ok(())
    } else {
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{path:?} is not a path inside the home folder"),
        ))
    }
}
