//! The folders that setups have made for hosts' files, so that the last removal takes them away again.
//!
//! It must never remove a folder that holds anything.

use std::collections::BTreeSet;
use std::path::Path;

use super::disk;
use entraclaw_seams::storage::{DiskStorage, Storage as _, read_whole};

/// Where setup keeps what it did, in the home folder.
pub(super) const FOLDER: &str = "setup";
/// Which folders were made, in the home folder.
const FOLDERS: &str = "setup/folders";
/// The largest list of them that is read.
const FOLDERS_BYTES_MAX: u64 = 1024 * 1024;

/// Makes the folders above a file, and remembers first which ones it makes.
pub(super) fn make(home: &DiskStorage, path: &Path) -> Result<(), String> {
    let missing = disk::missing_folders(path);
    if missing.is_empty() {
        return Ok(());
    }
    let mut made = made(home)?;
    made.extend(missing.iter().map(|folder| folder.display().to_string()));
    remember(home, &made)?;
    disk::make_folders(&missing)
}

/// Removes the folders that setups have made and that nobody has put anything into.
pub(super) fn tidy(home: &DiskStorage) -> Result<(), String> {
    let mut made = made(home)?;
    let count = made.len();
    // Innermost first: a folder sorts before what is in it.
    let gone: Vec<String> =
        made.iter().rev().filter(|folder| disk::remove_empty(Path::new(folder))).cloned().collect();
    made.retain(|folder| !gone.contains(folder));
    if made.len() == count { Ok(()) } else { remember(home, &made) }
}

/// The folders that setups have made, as far as they are still there.
fn made(home: &DiskStorage) -> Result<BTreeSet<String>, String> {
    let bytes = read_whole(home, FOLDERS, FOLDERS_BYTES_MAX).map_err(|error| error.to_string())?;
    let Some(bytes) = bytes else { return Ok(BTreeSet::new()) };
    serde_json::from_slice(&bytes).map_err(|error| {
        format!(
            "{FOLDERS} in the home folder can't be read: {error}; remove it, and folders that setup made stay"
        )
    })
}

fn remember(home: &DiskStorage, made: &BTreeSet<String>) -> Result<(), String> {
    let bytes = serde_json::to_vec_pretty(made).map_err(|error| error.to_string())?;
    home.create_dir(FOLDER).and_then(|()| home.replace(FOLDERS, &bytes)).map_err(|error| error.to_string())
}
