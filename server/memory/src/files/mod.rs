//! The seam to files that belong to others: sessions of other programs, and the context file of a workspace.
//!
//! [`Files`] can only read, so a reader of sessions can't harm a store. [`ContextFiles`] can also write one file of a
//! workspace. It must never follow a symlink to a file, as a workspace may come from a stranger.

mod database;
mod disk;
#[cfg(unix)]
mod listing;
mod simulated;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use entraclaw_seams::storage::{AppendFile, Changes};
use jiff::Timestamp;

pub use database::{Database, Moment, Row, Table, Value, ask, ask_again};
pub use disk::DiskFiles;
pub use simulated::SimulatedFiles;

/// A file at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Its length.
    pub bytes: u64,
    /// When it was last written.
    pub modified: Timestamp,
    /// Differs when another file has taken its name.
    pub identity: u64,
}

/// News of changes in folders.
#[derive(Default)]
pub struct News {
    /// The listener; `None` where the system can't tell of any of them.
    pub changes: Option<Changes>,
    /// Whether the listener may miss changes in one of the folders, so that its owner must look often.
    pub has_gaps: bool,
}

/// Reads files anywhere on the machine.
pub trait Files: Send + Sync {
    /// The names in a folder, sorted; empty if it does not exist.
    fn list(&self, folder: &Path) -> io::Result<Arc<[String]>>;
    /// A plain file as it is now; `None` if there is none. A symlink to a file is an error.
    fn look(&self, path: &Path) -> io::Result<Option<Standing>>;
    /// Whether there is a file or a folder of this name.
    fn exists(&self, path: &Path) -> bool;
    /// The one path of a folder, without symlinks; `None` if it is no folder.
    fn folder(&self, path: &Path) -> Option<PathBuf>;
    /// Reads up to `len` bytes from `offset`; fewer at the end of the file.
    fn read(&self, path: &Path, offset: u64, len: usize) -> io::Result<Vec<u8>>;
    /// Whether a process holds a lock of this file; `None` where the system can't tell without touching the lock.
    fn is_locked(&self, _path: &Path) -> Option<bool> {
        None
    }
    /// Listens for changes in these folders, but not in the folders inside them.
    fn news(&self, _folders: &[PathBuf]) -> News {
        News::default()
    }
    /// A database of SQLite, for [`ask`]; `None` if there is none, or nothing in it.
    fn database(&self, path: &Path, moment: Moment) -> io::Result<Option<Database>>;
    /// Waits until another program may have come on, where one can.
    fn pause(&self, _pause: Duration) {}
}

/// Reads files, and writes the context file of a workspace.
pub trait ContextFiles: Files {
    /// Opens an existing plain file for writing at its end.
    fn open(&self, path: &Path) -> io::Result<Box<dyn AppendFile>>;
    /// Creates a file; fails if there is one. Its name is durable after its first sync.
    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>>;
}

/// Reads a whole file; `None` if there is none.
///
/// # Errors
///
/// [`io::ErrorKind::FileTooLarge`] if it is longer than `bytes_max`, or the error of the disk.
pub fn read_whole(
    files: &(impl Files + ?Sized),
    path: &Path,
    bytes_max: u64,
) -> io::Result<Option<(Vec<u8>, Standing)>> {
    let Some(standing) = files.look(path)? else { return Ok(None) };
    if standing.bytes > bytes_max {
        let problem = format!("it has {} bytes, at most {bytes_max} are read", standing.bytes);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
    }
    let len = usize::try_from(standing.bytes).map_err(io::Error::other)?;
    files.read(path, 0, len).map(|bytes| Some((bytes, standing)))
}

#[cfg(test)]
mod tests {
    use entraclaw_seams::clock::SystemClock;
    use entraclaw_seams::storage::MemoryStorage;

    use super::*;

    #[test]
    fn a_file_is_read_whole_up_to_a_bound() {
        let storage = MemoryStorage::new();
        storage.set_bytes("a", b"three");
        let files = SimulatedFiles::new(storage, Arc::new(SystemClock));
        let (bytes, standing) = read_whole(&files, Path::new("/a"), 5).unwrap().unwrap();
        assert_eq!((bytes.as_slice(), standing.bytes), (&b"three"[..], 5));
        let error = read_whole(&files, Path::new("/a"), 4).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(error.to_string(), "it has 5 bytes, at most 4 are read");
        assert!(read_whole(&files, Path::new("/b"), 5).unwrap().is_none());
    }
}
