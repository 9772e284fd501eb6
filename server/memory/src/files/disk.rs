//! The real files of the machine.
//!
//! It must never wait for a pipe or a device, nor change what a file is: length and content are all that it writes.

#![expect(
    clippy::disallowed_types,
    reason = "the adapter reads when a file was written, never what time it is"
)]

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use entraclaw_seams::storage::{AppendFile, watch_folders};
use jiff::Timestamp;

use super::database::{Bytes, Database, KeptDatabases, Moment};
use super::{ContextFiles, Files, News, Standing};

/// Most names in one folder that are looked at.
const NAMES_MAX: usize = 100_000;

/// The files of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct DiskFiles;

/// A process has one disk.
static KEPT: KeptDatabases = KeptDatabases::new();

impl Files for DiskFiles {
    #[cfg(unix)]
    fn list(&self, folder: &Path) -> io::Result<Arc<[String]>> {
        let Some(standing) = found(fs::metadata(folder))? else { return Ok(Arc::default()) };
        super::listing::names(folder, &standing, || list(folder))
    }

    /// Elsewhere a folder's times say too little to keep its names.
    #[cfg(not(unix))]
    fn list(&self, folder: &Path) -> io::Result<Arc<[String]>> {
        list(folder).map(Arc::from)
    }

    fn look(&self, path: &Path) -> io::Result<Option<Standing>> {
        let Some(found) = found(fs::symlink_metadata(path))? else { return Ok(None) };
        check(&found)?;
        Ok(Some(standing(&found)))
    }

    fn exists(&self, path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok()
    }

    fn folder(&self, path: &Path) -> Option<PathBuf> {
        fs::canonicalize(path).ok().filter(|found| found.is_dir())
    }

    fn news(&self, folders: &[PathBuf]) -> News {
        watch(folders)
    }

    fn read(&self, path: &Path, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let mut file = open(path, OpenOptions::new().read(true))?;
        let left = file.metadata()?.len().saturating_sub(offset);
        let len = usize::try_from(left).unwrap_or(usize::MAX).min(len);
        file.seek(SeekFrom::Start(offset))?;
        let mut bytes = Vec::with_capacity(len);
        file.take(len as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// What is learnt is kept: a listing and the sessions in it ask the same.
    fn database(&self, path: &Path, moment: Moment) -> io::Result<Option<Database>> {
        KEPT.open(self, path, moment, |path| {
            let file = found(open(path, OpenOptions::new().read(true)))?;
            Ok(file.map(|file| Arc::new(file) as Arc<dyn Bytes>))
        })
    }

    #[expect(clippy::disallowed_methods, reason = "the other program is on the same real clock")]
    fn pause(&self, pause: Duration) {
        std::thread::sleep(pause);
    }

    #[cfg(target_os = "linux")]
    fn is_locked(&self, path: &Path) -> Option<bool> {
        use std::os::unix::fs::MetadataExt;
        let inode = fs::symlink_metadata(path).ok().filter(Metadata::is_file)?.ino();
        let mut locks = String::new();
        File::open("/proc/locks").ok()?.take(LOCKS_BYTES_MAX).read_to_string(&mut locks).ok()?;
        Some(holds(&locks, inode))
    }
}

impl Bytes for File {
    #[cfg(unix)]
    fn fill(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(self, into, offset)
    }

    #[cfg(windows)]
    fn fill(&self, mut offset: u64, mut into: &mut [u8]) -> io::Result<()> {
        while !into.is_empty() {
            let read = std::os::windows::fs::FileExt::seek_read(self, into, offset)?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            offset += read as u64;
            into = &mut into[read..];
        }
        Ok(())
    }
}

/// The names in a folder now.
fn list(folder: &Path) -> io::Result<Vec<String>> {
    let Some(entries) = found(fs::read_dir(folder))? else { return Ok(Vec::new()) };
    let mut names = Vec::new();
    for entry in entries.take(NAMES_MAX) {
        // No agent's store has a name that is not Unicode.
        if let Ok(name) = entry?.file_name().into_string() {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Longest list of the system's locks that is read.
#[cfg(target_os = "linux")]
const LOCKS_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Whether the system's list `N: FLOCK ADVISORY WRITE PID MAJOR:MINOR:INODE FROM TO` names a file. A process that waits for
/// a lock has `->` behind its number and holds none. The numbers of the device are those of the disk below, which `stat`
/// does not tell for every file system, so the number of the file alone is compared.
#[cfg(target_os = "linux")]
fn holds(locks: &str, inode: u64) -> bool {
    let ending = format!(":{inode}");
    let mut held = locks.lines().filter(|line| !line.contains("->"));
    held.any(|line| {
        line.split_ascii_whitespace().any(|word| word.matches(':').count() == 2 && word.ends_with(&ending))
    })
}

fn watch(folders: &[PathBuf]) -> News {
    match watch_folders(folders.iter().map(PathBuf::as_path)) {
        Some((changes, missed)) => News { changes: Some(changes), has_gaps: missed > 0 },
        None => News { changes: None, has_gaps: true },
    }
}

impl ContextFiles for DiskFiles {
    fn open(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        let file = open(path, OpenOptions::new().append(true).read(true))?;
        Ok(Box::new(DiskFile { file, new_in: None }))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        let file = open(path, OpenOptions::new().append(true).read(true).create_new(true))?;
        Ok(Box::new(DiskFile { file, new_in: path.parent().map(Path::to_owned) }))
    }
}

struct DiskFile {
    file: File,
    /// The folder whose names are not durable yet.
    new_in: Option<PathBuf>,
}

impl AppendFile for DiskFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_all()?;
        if let Some(folder) = &self.new_in {
            sync_folder(folder)?;
            self.new_in = None;
        }
        Ok(())
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn len(&self) -> io::Result<u64> {
        self.file.metadata().map(|found| found.len())
    }
}

fn found<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn check(found: &Metadata) -> io::Result<()> {
    let problem = if found.is_file() {
        return Ok(());
    } else if found.is_symlink() {
        "it is a symlink, which may lead anywhere; put the file in its place"
    } else {
        "it is not a plain file; move it away"
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, problem))
}

/// The name may have changed since the last look, so the opened file is checked too.
fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let file = plainly(options).open(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

/// Never follows a symlink at the end of the path, and never waits for the other end of a pipe.
#[cfg(unix)]
fn plainly(options: &mut OpenOptions) -> &OpenOptions {
    use nix::fcntl::OFlag;
    use std::os::unix::fs::OpenOptionsExt;
    options.custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC).bits())
}

#[cfg(not(unix))]
fn plainly(options: &mut OpenOptions) -> &OpenOptions {
    options
}

fn standing(found: &Metadata) -> Standing {
    let modified = found.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    Standing {
        bytes: found.len(),
        modified: Timestamp::try_from(modified).unwrap_or(Timestamp::UNIX_EPOCH),
        identity: identity(found),
    }
}

#[cfg(unix)]
fn identity(found: &Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    found.ino() ^ found.dev().rotate_left(40)
}

/// Windows tells no number of a file without opening it; one that takes a name gets a birth of its own.
#[cfg(windows)]
fn identity(found: &Metadata) -> u64 {
    use std::os::windows::fs::MetadataExt;
    found.creation_time()
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Windows has no such call, and NTFS journals names by itself.
#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::ops::ControlFlow;

    use super::super::ask;
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_lock_is_seen_without_taking_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.lock");
        assert_eq!(DiskFiles.is_locked(&path), None);
        let file = File::create(&path).unwrap();
        assert_eq!(DiskFiles.is_locked(&path), Some(false));
        file.lock().unwrap();
        assert_eq!(DiskFiles.is_locked(&path), Some(true));
        drop(file);
        assert_eq!(DiskFiles.is_locked(&path), Some(false));
        let waits =
            "1: FLOCK  ADVISORY  WRITE 7 fe:00:10 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 8 fe:00:11 0 EOF\n";
        assert!(holds(waits, 10) && !holds(waits, 11) && !holds(waits, 1) && !holds("", 10));
    }

    #[test]
    fn only_a_plain_file_is_read_or_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("context.md");
        assert_eq!(DiskFiles.look(&path).unwrap(), None);
        DiskFiles.create(&path).unwrap().append(b"one").unwrap();
        DiskFiles.open(&path).unwrap().append(b" two").unwrap();
        assert_eq!(DiskFiles.read(&path, 1, 100).unwrap(), b"ne two");
        assert!(DiskFiles.create(&path).is_err());

        let link = folder.path().join("link.md");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let pipe = folder.path().join("pipe.md");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        for other in [&link, &pipe, &folder.path().to_owned()] {
            assert!(DiskFiles.look(other).is_err(), "{other:?}");
            assert!(DiskFiles.read(other, 0, 1).is_err(), "{other:?}");
            assert!(DiskFiles.open(other).is_err(), "{other:?}");
        }
        assert_eq!(DiskFiles.folder(&path), None);
        assert!(DiskFiles.folder(folder.path()).is_some());
    }

    #[test]
    fn a_file_that_takes_a_name_has_another_identity() {
        let folder = tempfile::tempdir().unwrap();
        let (path, old) = (folder.path().join("a"), folder.path().join("b"));
        DiskFiles.create(&path).unwrap();
        let before = DiskFiles.look(&path).unwrap().unwrap();
        std::os::unix::fs::symlink("nowhere", folder.path().join("c")).unwrap();
        fs::hard_link(&path, &old).unwrap();
        nix::unistd::unlink(&path).unwrap();
        DiskFiles.create(&path).unwrap();
        assert_ne!(DiskFiles.look(&path).unwrap().unwrap().identity, before.identity);
        assert_eq!(DiskFiles.look(&old).unwrap().unwrap().identity, before.identity);
        assert_eq!(*DiskFiles.list(folder.path()).unwrap(), ["a", "b", "c"]);
    }
    #[test]
    fn a_file_is_read_as_far_as_it_goes_cut_and_written_at_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut file = DiskFiles.create(&path).unwrap();
        file.append(b"one two").unwrap();
        file.sync().unwrap();
        for (offset, len, expected) in
            [(0, 3, &b"one"[..]), (4, 9, b"two"), (7, 9, b""), (99, 9, b""), (0, 0, b"")]
        {
            assert_eq!(DiskFiles.read(&path, offset, len).unwrap(), expected, "{offset}");
        }
        let mut file = DiskFiles.open(&path).unwrap();
        assert_eq!(file.len().unwrap(), 7);
        file.truncate(3).unwrap();
        file.append(b" more").unwrap();
        assert_eq!((file.len().unwrap(), DiskFiles.look(&path).unwrap().unwrap().bytes), (8, 8));
        assert_eq!(DiskFiles.read(&path, 0, 99).unwrap(), b"one more");
        assert!(DiskFiles.exists(&path) && !DiskFiles.exists(&folder.path().join("b")));
        assert!(DiskFiles.list(&folder.path().join("none")).unwrap().is_empty());
        assert!(DiskFiles.list(&path).unwrap().is_empty(), "a file has no names");
    }

    #[test]
    fn each_database_is_read_as_it_is_now() {
        let folder = tempfile::tempdir().unwrap();
        let [one, other] = ["one.db", "other.db"].map(|name| folder.path().join(name));
        let write = |path: &Path, rows: &str| {
            rusqlite::Connection::open(path).unwrap().execute_batch(rows).unwrap();
        };
        let count = |path: &Path| {
            let rows = std::cell::Cell::new(0);
            let count = |database: &Database| {
                rows.set(0);
                database.table("t", ["a"])?.each(0, |_| {
                    rows.set(rows.get() + 1);
                    Ok(ControlFlow::Continue(()))
                })
            };
            ask(&DiskFiles, path, count).unwrap().unwrap();
            rows.get()
        };
        write(&one, "CREATE TABLE t (a TEXT); INSERT INTO t VALUES ('a')");
        write(&other, "CREATE TABLE t (a TEXT)");
        assert_eq!([count(&one), count(&other), count(&one)], [1, 0, 1]);
        write(&one, &format!("INSERT INTO t VALUES ('{}'), ('c')", "b".repeat(10_000)));
        assert_eq!([count(&one), count(&one), count(&other)], [3, 3, 0]);
        assert!(DiskFiles.database(&folder.path().join("none.db"), Moment::Now).unwrap().is_none());
    }
}
