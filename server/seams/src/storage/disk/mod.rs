//! Real files below one private folder.
//!
//! It must never follow a symlink into or inside that folder, and never leave a file that others can read.

#![expect(
    clippy::disallowed_methods,
    reason = "the one adapter that touches the server's files; it sleeps shortly between two tries of a lock"
)]

mod names;
mod platform;
#[cfg(test)]
mod tests;
mod watcher;

pub use watcher::watch_folders;

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use names::Names;

use super::{AppendFile, Changes, Lock, Stamp, Storage, check_path};

const LOCK_RETRY_MS: u64 = 1;

/// Files below one folder that belongs to this user alone.
#[derive(Debug, Clone)]
pub struct DiskStorage {
    root: PathBuf,
    names: Names,
}

/// The state of a folder, for a report to people.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Health {
    /// Why it can't be written, if so.
    pub read_only: Option<String>,
    /// The first few files and folders in it that others may read or write.
    pub open_to_others: Vec<String>,
    /// Bytes free on its disk, where the system tells.
    pub free_bytes: Option<u64>,
}

impl DiskStorage {
    /// Uses `root` and creates it if it is missing. Refuses a symlink, a file, another user's folder and one that
    /// others may write to; closes one that others may only read.
    pub fn open(root: &Path) -> io::Result<Self> {
        if let Some(found) = folder_at(root)? {
            platform::claim_folder(root, &found)?;
        } else {
            if let Some(parent) = root.parent() {
                fs::create_dir_all(parent).map_err(at(parent))?;
            }
            platform::create_folder(root).map_err(at(root))?;
        }
        Ok(Self { root: root.to_owned(), names: Names::default() })
    }

    /// Uses `root` and changes nothing; `None` if it is missing. Refuses the same folders as [`DiskStorage::open`].
    pub fn look(root: &Path) -> io::Result<Option<Self>> {
        let Some(found) = folder_at(root)? else { return Ok(None) };
        platform::check_folder(root, &found)?;
        Ok(Some(Self { root: root.to_owned(), names: Names::default() }))
    }

    /// Reads a file that people write, such as the configuration; `None` if it is missing. It may be a symlink to a plain
    /// file that belongs to this user or to root and that others can't write.
    pub fn read_settings(&self, path: &str, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
        let path = self.path(path)?;
        let Some(found) = found(fs::symlink_metadata(&path))? else { return Ok(None) };
        let target = if found.is_symlink() {
            let dangling = |error: io::Error| {
                io::Error::new(
                    error.kind(),
                    format!("it is a symlink that leads nowhere ({error}); remove it"),
                )
            };
            let target = fs::canonicalize(&path).map_err(dangling)?;
            platform::check_link_target(&target, &fs::metadata(&target)?)?;
            target
        } else {
            path
        };
        let found = fs::symlink_metadata(&target)?;
        if !found.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a plain file; move it away"));
        }
        if found.len() > bytes_max {
            let why = format!("it has {} bytes, at most {bytes_max} are read; shorten it", found.len());
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        let mut bytes = Vec::new();
        let file = platform::private(OpenOptions::new().read(true)).open(&target)?;
        file.take(bytes_max).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    /// Examines the folder.
    pub fn health(&self) -> Health {
        let mut open_to_others = Vec::new();
        platform::list_open(&self.root, &self.root, &mut open_to_others);
        Health {
            read_only: platform::write_problem(&self.root),
            open_to_others,
            free_bytes: platform::free_bytes(&self.root),
        }
    }

    /// The folders below it that can't be used, each with the fix; a missing one is fine.
    pub fn folder_troubles(&self, folders: &[&str]) -> Vec<String> {
        folders.iter().filter_map(|folder| self.folder_trouble(folder)).collect()
    }

    fn folder_trouble(&self, folder: &str) -> Option<String> {
        let path = self.path(folder).ok()?;
        let shown = path.display();
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_symlink() => {
                Some(format!("{shown} is a symlink; put a folder in its place"))
            }
            Ok(found) if !found.is_dir() => Some(format!("{shown} is not a folder; move it away")),
            Ok(_) => platform::use_problem(&path)
                .map(|why| format!("{shown} can't be read and written: {why}; run `chmod -R u+rwX {shown}`")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            // Its parent is reported already.
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => None,
            Err(error) => Some(format!("{shown} can't be read: {error}; repair its permissions")),
        }
    }

    /// Why this user can't create files in a folder, if so.
    pub fn write_problem(folder: &Path) -> Option<String> {
        platform::write_problem(folder)
    }

    /// The path of the folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn path(&self, path: &str) -> io::Result<PathBuf> {
        check_path(path)?;
        Ok(path.split('/').fold(self.root.clone(), |below, part| below.join(part)))
    }

    fn write_sibling(&self, path: &str, bytes: &[u8], sync: bool) -> io::Result<(PathBuf, PathBuf)> {
        let target = self.path(path)?;
        let sibling = self.path(&format!("{path}.tmp"))?;
        let options = &mut OpenOptions::new();
        let mut file = open(&sibling, options.write(true).create(true).truncate(true))?;
        let written = file.write_all(bytes).and_then(|()| if sync { file.sync_all() } else { Ok(()) });
        if let Err(error) = written {
            drop(file);
            let _ = fs::remove_file(&sibling);
            return Err(at(&sibling)(error));
        }
        Ok((sibling, target))
    }
}

impl Storage for DiskStorage {
    fn create_dir(&self, dir: &str) -> io::Result<()> {
        check_path(dir)?;
        let mut below = self.root.clone();
        for part in dir.split('/') {
            let parent = below.clone();
            below.push(part);
            match platform::create_folder(&below) {
                Ok(()) => self.names.add_folder_in(parent),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    let found = fs::symlink_metadata(&below).map_err(at(&below))?;
                    if !found.is_dir() {
                        return Err(refusal(&below, "is not a folder; move it away"));
                    }
                }
                Err(error) => return Err(at(&below)(error)),
            }
        }
        Ok(())
    }

    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        let dir = self.path(dir)?;
        let Some(entries) = found(fs::read_dir(&dir)).map_err(at(&dir))? else { return Ok(Vec::new()) };
        let mut names = Vec::new();
        for entry in entries {
            // A name that is not Unicode is no file of the server.
            if let Ok(name) = entry.map_err(at(&dir))?.file_name().into_string() {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn len(&self, path: &str) -> io::Result<Option<u64>> {
        let path = self.path(path)?;
        Ok(file_at(&path)?.map(|found| found.len()))
    }

    fn stamp(&self, path: &str) -> io::Result<Option<Stamp>> {
        let path = self.path(path)?;
        Ok(file_at(&path)?.as_ref().map(platform::stamp))
    }

    fn read(&self, path: &str, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let path = self.path(path)?;
        let read = || {
            let mut file = platform::private(OpenOptions::new().read(true)).open(&path)?;
            let left = file.metadata()?.len().saturating_sub(offset);
            let len = usize::try_from(left).unwrap_or(usize::MAX).min(len);
            file.seek(SeekFrom::Start(offset))?;
            let mut bytes = Vec::with_capacity(len);
            file.take(len as u64).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        read().map_err(at(&path))
    }

    fn append(&self, path: &str, create: bool) -> io::Result<Box<dyn AppendFile>> {
        let path = self.path(path)?;
        let file = open(&path, OpenOptions::new().append(true).read(true).create(create))?;
        Ok(Box::new(DiskFile { file, path, names: self.names.clone(), name_is_synced: false }))
    }

    fn replace(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let (sibling, target) = self.write_sibling(path, bytes, true)?;
        fs::rename(&sibling, &target).map_err(at(&target))?;
        self.names.sync(&target)
    }

    fn replace_derived(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let (sibling, target) = self.write_sibling(path, bytes, false)?;
        fs::rename(&sibling, &target).map_err(at(&target))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let (from, to) = (self.path(from)?, self.path(to)?);
        fs::rename(&from, &to).map_err(at(&from))?;
        self.names.sync_parent(&to)?;
        if from.parent() == to.parent() { Ok(()) } else { self.names.sync_parent(&from) }
    }

    fn rename_derived(&self, from: &str, to: &str) -> io::Result<()> {
        let (from, to) = (self.path(from)?, self.path(to)?);
        fs::rename(&from, &to).map_err(at(&from))
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        let path = self.path(path)?;
        let removed = found(fs::remove_file(&path)).map_err(at(&path))?;
        removed.map_or(Ok(()), |()| self.names.sync_parent(&path))
    }

    fn remove_dir(&self, dir: &str) -> io::Result<()> {
        let dir = self.path(dir)?;
        let removed = found(fs::remove_dir(&dir)).map_err(at(&dir))?;
        removed.map_or(Ok(()), |()| self.names.sync_parent(&dir))
    }

    fn changes(&self, dir: &str) -> Option<Changes> {
        watcher::watch(&self.path(dir).ok()?)
    }

    fn try_lock(&self, path: &str) -> io::Result<Option<Box<dyn Lock>>> {
        let path = self.path(path)?;
        let file = open(&path, OpenOptions::new().write(true).create(true).truncate(false))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Box::new(DiskLock { _file: file }))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(at(&path)(error)),
        }
    }

    fn lock(&self, path: &str, wait_ms: u64) -> io::Result<Option<Box<dyn Lock>>> {
        for _ in 0..wait_ms / LOCK_RETRY_MS {
            if let Some(lock) = self.try_lock(path)? {
                return Ok(Some(lock));
            }
            thread::sleep(Duration::from_millis(LOCK_RETRY_MS));
        }
        self.try_lock(path)
    }
}

struct DiskFile {
    file: File,
    path: PathBuf,
    names: Names,
    name_is_synced: bool,
}

impl AppendFile for DiskFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes).map_err(at(&self.path))
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.name_is_synced {
            return self.file.sync_data().map_err(at(&self.path));
        }
        self.file.sync_all().map_err(at(&self.path))?;
        // The process that created the file may have ended before its name was durable.
        self.names.sync(&self.path)?;
        self.name_is_synced = true;
        Ok(())
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.file.set_len(len).map_err(at(&self.path))
    }

    fn len(&self) -> io::Result<u64> {
        self.file.metadata().map(|found| found.len()).map_err(at(&self.path))
    }
}

/// The kernel releases it when the file is closed, also after `kill -9`.
struct DiskLock {
    _file: File,
}

impl Lock for DiskLock {}

/// Opens a file for its owner alone, and no symlink.
fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    platform::private(options).open(path).map_err(at(path))
}

/// Puts the path before the system's error.
fn at(path: &Path) -> impl Fn(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Turns "not found" into `None`.
fn found<T>(looked: io::Result<T>) -> io::Result<Option<T>> {
    match looked {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn folder_at(root: &Path) -> io::Result<Option<Metadata>> {
    match found(fs::symlink_metadata(root)).map_err(at(root))? {
        Some(found) if found.is_symlink() => {
            Err(refusal(root, "is a symlink; set ENTRACLAW_HOME to the folder it leads to"))
        }
        Some(found) if !found.is_dir() => {
            Err(refusal(root, "is not a folder; move it away or set ENTRACLAW_HOME to another place"))
        }
        found => Ok(found),
    }
}

fn file_at(path: &Path) -> io::Result<Option<Metadata>> {
    match found(fs::symlink_metadata(path)).map_err(at(path))? {
        Some(found) if !found.is_file() => Err(refusal(path, "is not a plain file; move it away")),
        found => Ok(found),
    }
}

fn refusal(path: &Path, why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, format!("{} {why}", path.display()))
}
