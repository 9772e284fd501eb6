//! The files of a simulated machine, on the same disk as its home folder, so that one crash hits both.
//!
//! It must never touch a real file.

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use entraclaw_seams::clock::Clock;
use entraclaw_seams::storage::{AppendFile, MemoryStorage, Stamp, Storage};
use jiff::{Timestamp, ToSpan as _};

use super::database::{Bytes, Database, KeptDatabases, Moment};
use super::{ContextFiles, Files, News, Standing};

/// What was last seen of a file, and when that was new.
type Seen = BTreeMap<String, (Option<Stamp>, Timestamp)>;

/// One process's view of the files. Paths are absolute, with `/`. A folder exists as long as a file is below it.
#[derive(Clone)]
pub struct SimulatedFiles {
    storage: MemoryStorage,
    clock: Arc<dyn Clock>,
    began: Timestamp,
    seen: Arc<Mutex<Seen>>,
}

impl SimulatedFiles {
    /// The files of a simulated disk, which keeps no times: a file counts as written when a change of it is first seen, and
    /// what is there at the first look as written before this process began.
    pub fn new(storage: MemoryStorage, clock: Arc<dyn Clock>) -> Self {
        let began = clock.now() - 1.second();
        Self { storage, clock, began, seen: Arc::default() }
    }

    /// Remembers how a file stands that this process is about to write.
    fn before_writing(&self, path: &str) -> io::Result<()> {
        let stamp = self.storage.stamp(path)?;
        self.modified(path, stamp);
        Ok(())
    }

    /// When a file with this stamp was written.
    fn modified(&self, path: &str, stamp: Option<Stamp>) -> Timestamp {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let known = seen.entry(path.to_owned()).or_insert((stamp, self.began));
        if known.0 != stamp {
            *known = (stamp, self.clock.now());
        }
        known.1
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
    fn list(&self, folder: &Path) -> io::Result<Arc<[String]>> {
        self.storage.list(&Self::path(folder)?).map(Arc::from)
    }

    fn look(&self, path: &Path) -> io::Result<Option<Standing>> {
        let path = Self::path(path)?;
        let stamp = self.storage.stamp(&path)?;
        let modified = self.modified(&path, stamp);
        Ok(stamp.map(|stamp| Standing { bytes: stamp.bytes(), modified, identity: 0 }))
    }

    fn exists(&self, path: &Path) -> bool {
        Self::path(path).is_ok_and(|path| self.storage.paths().contains(&path) || self.below(&path))
    }

    fn folder(&self, path: &Path) -> Option<PathBuf> {
        Self::path(path).ok().filter(|found| self.below(found)).map(|_| path.to_owned())
    }

    fn news(&self, _folders: &[PathBuf]) -> News {
        News { changes: self.storage.every_change(), has_gaps: false }
    }

    fn read(&self, path: &Path, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        self.storage.read(&Self::path(path)?, offset, len)
    }

    fn database(&self, path: &Path, moment: Moment) -> io::Result<Option<Database>> {
        KeptDatabases::new().open(self, path, moment, |path| {
            let path = Self::path(path)?;
            let is_there = self.storage.len(&path)?.is_some();
            let stored = || Arc::new(Stored { storage: self.storage.clone(), path }) as Arc<dyn Bytes>;
            Ok(is_there.then(stored))
        })
    }
}

/// A file of the simulated disk.
struct Stored {
    storage: MemoryStorage,
    path: String,
}

impl Bytes for Stored {
    fn fill(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let read = self.storage.read(&self.path, offset, into.len())?;
        if read.len() < into.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        into.copy_from_slice(&read);
        Ok(())
    }
}

impl ContextFiles for SimulatedFiles {
    fn open(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        let path = Self::path(path)?;
        self.before_writing(&path)?;
        self.storage.append(&path, false)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        let path = Self::path(path)?;
        if self.storage.len(&path)?.is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.before_writing(&path)?;
        self.storage.append(&path, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed;

    impl Clock for Fixed {
        fn now(&self) -> Timestamp {
            "2026-11-26T12:00:00Z".parse().unwrap()
        }
    }

    fn files() -> (MemoryStorage, SimulatedFiles) {
        let storage = MemoryStorage::new();
        storage.set_bytes("p/old", b"one");
        (storage.clone(), SimulatedFiles::new(storage, Arc::new(Fixed)))
    }

    #[test]
    fn a_file_counts_as_written_when_a_change_is_seen_and_what_was_there_before_as_older() {
        let (storage, files) = files();
        let modified = |path: &str| files.look(Path::new(path)).unwrap().unwrap().modified;
        assert!(modified("/p/old") < Fixed.now());
        storage.set_bytes("p/old", b"two");
        assert_eq!(modified("/p/old"), Fixed.now());
        // Its own writes need no look before them.
        files.create(Path::new("/p/new")).unwrap().append(b"a").unwrap();
        assert_eq!(modified("/p/new"), Fixed.now());
        storage.set_bytes("p/third", b"a");
        files.open(Path::new("/p/third")).unwrap().append(b"b").unwrap();
        assert_eq!(modified("/p/third"), Fixed.now());
        assert!(files.create(Path::new("/p/new")).is_err() && files.open(Path::new("/p/none")).is_err());
    }

    #[test]
    fn a_folder_is_there_as_long_as_a_file_is_below_it() {
        let (_, files) = files();
        for (path, exists, is_folder) in [
            ("/p", true, true),
            ("/p/old", true, false),
            ("/p/o", false, false),
            ("/q", false, false),
            ("/p/../p", false, false),
        ] {
            let path = Path::new(path);
            assert_eq!((files.exists(path), files.folder(path).is_some()), (exists, is_folder), "{path:?}");
        }
        assert_eq!(files.look(Path::new("/p/none")).unwrap(), None);
        assert_eq!(files.look(Path::new("/p/old")).unwrap().unwrap().bytes, 3);
        assert!(files.look(Path::new("/p/./old")).is_ok() && files.look(Path::new("/p/../old")).is_err());
        assert_eq!(files.read(Path::new("/p/old"), 1, 9).unwrap(), b"ne");
        assert!(files.news(&[]).changes.is_some());
    }
}
