//! The folder of the index, which belongs to this user alone.
//!
//! It must never hold a file that others may read, nor remove one that is not the index's.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    Directory, DirectoryLock, FileHandle, Lock, MmapDirectory, WatchCallback, WatchHandle, WritePtr,
};

/// A folder whose files have mode 0600.
#[derive(Debug, Clone)]
pub(super) struct PrivateFolder {
    path: PathBuf,
    inner: MmapDirectory,
}

impl PrivateFolder {
    pub(super) fn open(path: &Path) -> Result<Self, tantivy::TantivyError> {
        restrict(path, 0o700)?;
        Ok(Self { path: path.to_owned(), inner: MmapDirectory::open(path)? })
    }

    /// Removes an index that can't be used.
    #[expect(clippy::disallowed_methods, reason = "the adapter of the index's own files")]
    pub(super) fn clear(path: &Path) -> io::Result<()> {
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }
}

impl Directory for PrivateFolder {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.inner.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.inner.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.inner.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        let writer = self.inner.open_write(path)?;
        // The file is still empty.
        restrict(&self.path.join(path), 0o600)
            .map_err(|error| OpenWriteError::wrap_io_error(error, path.to_owned()))?;
        Ok(writer)
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.inner.atomic_read(path)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        self.inner.atomic_write(path, data)?;
        restrict(&self.path.join(path), 0o600)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.inner.sync_directory()
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        let held = self.inner.acquire_lock(lock)?;
        restrict(&self.path.join(&lock.filepath), 0o600).map_err(LockError::wrap_io_error)?;
        Ok(held)
    }

    fn watch(&self, callback: WatchCallback) -> Result<WatchHandle, tantivy::TantivyError> {
        self.inner.watch(callback)
    }
}

#[cfg(unix)]
fn restrict(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

/// The home folder's own rights hold for what is in it.
#[cfg(not(unix))]
fn restrict(_path: &Path, _mode: u32) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_files_of_an_index_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let index = folder.path().join("index");
        fs::create_dir(&index).unwrap();
        fs::create_dir(index.join("other")).unwrap();
        for name in ["a", "b", "other/c"] {
            fs::File::create(index.join(name)).unwrap();
        }
        PrivateFolder::clear(&index).unwrap();
        let names: Vec<_> = fs::read_dir(&index).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["other"]);
        assert!(index.join("other/c").exists());
        assert!(PrivateFolder::clear(&folder.path().join("none")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn what_is_written_is_this_users_alone_and_can_be_read_and_deleted() {
        use std::io::Write as _;
        use std::os::unix::fs::PermissionsExt as _;

        use tantivy::directory::{INDEX_WRITER_LOCK, TerminatingWrite as _};

        let folder = tempfile::tempdir().unwrap();
        let private = PrivateFolder::open(folder.path()).unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        let (one, two) = (Path::new("one"), Path::new("two"));
        let mut writer = private.open_write(one).unwrap();
        writer.write_all(b"text").unwrap();
        writer.terminate().unwrap();
        private.atomic_write(two, b"other").unwrap();
        let _held = private.acquire_lock(&INDEX_WRITER_LOCK).unwrap();
        private.sync_directory().unwrap();
        assert_eq!(mode(folder.path()), 0o700);
        for name in [one, two, &INDEX_WRITER_LOCK.filepath] {
            assert_eq!(mode(&folder.path().join(name)), 0o600, "{name:?}");
        }
        assert_eq!(private.atomic_read(two).unwrap(), b"other");
        assert_eq!(private.get_file_handle(one).unwrap().read_bytes(1..3).unwrap().as_slice(), b"ex");
        assert!(private.exists(one).unwrap());
        private.delete(one).unwrap();
        assert!(!private.exists(one).unwrap() && private.acquire_lock(&INDEX_WRITER_LOCK).is_err());
    }
}
