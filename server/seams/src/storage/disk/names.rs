//! Makes names of files and folders survive a power cut, and delays that for new folders.
//! It must never report a name as durable before its folder was synced.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{at, platform};

/// Makes the names in a folder survive a power cut. Tests put their own here, to see which folders are synced and when.
pub(super) trait FolderSync: Debug + Send + Sync {
    fn sync(&self, folder: &Path) -> io::Result<()>;
}

/// The system's own sync.
#[derive(Debug)]
struct BySystem;

impl FolderSync for BySystem {
    fn sync(&self, folder: &Path) -> io::Result<()> {
        platform::sync_folder(folder)
    }
}

/// The names below one home folder.
#[derive(Debug, Clone)]
pub(super) struct Names {
    /// Folders that got a new folder since they were last synced. They are synced together with the first file, not at
    /// once: a start must not wait for the disk, and an empty folder is worth nothing after a power cut.
    new_in: Arc<Mutex<BTreeSet<PathBuf>>>,
    sync: Arc<dyn FolderSync>,
}

impl Default for Names {
    fn default() -> Self {
        Self::synced_by(Arc::new(BySystem))
    }
}

impl Names {
    pub(super) fn synced_by(sync: Arc<dyn FolderSync>) -> Self {
        Self { new_in: Arc::default(), sync }
    }

    fn new_in(&self) -> MutexGuard<'_, BTreeSet<PathBuf>> {
        self.new_in.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a folder got a new folder.
    pub(super) fn add_folder_in(&self, folder: PathBuf) {
        self.new_in().insert(folder);
    }

    /// Makes the name of `file` and those of the folders above it durable.
    pub(super) fn sync(&self, file: &Path) -> io::Result<()> {
        let folders = std::mem::take(&mut *self.new_in());
        for folder in &folders {
            if let Err(error) = self.sync.sync(folder) {
                self.new_in().extend(folders.iter().cloned());
                return Err(at(folder)(error));
            }
        }
        self.sync_parent(file)
    }

    /// Makes the names in the folder that holds `path` durable.
    pub(super) fn sync_parent(&self, path: &Path) -> io::Result<()> {
        match path.parent() {
            Some(parent) => self.sync.sync(parent).map_err(at(parent)),
            None => Ok(()),
        }
    }
}
