//! The folders that setups have made for hosts' files, so that the last removal removes them again.
//!
//! It must never remove a folder that is not empty.

use std::collections::BTreeSet;
use std::path::Path;

use super::disk;
use entraclaw_seams::storage::{DiskStorage, Storage as _, read_whole};

/// The folder of receipts in the home folder.
pub(super) const FOLDER: &str = "setup";
/// The file in the home folder that lists the folders.
const FOLDERS: &str = "setup/folders";
/// Largest list that is read.
const FOLDERS_BYTES_MAX: u64 = 1024 * 1024;

/// Makes the missing folders above a file, after it has added them to the list.
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

/// Removes the listed folders that are empty.
pub(super) fn tidy(home: &DiskStorage) -> Result<(), String> {
    let mut made = made(home)?;
    let count = made.len();
    // A folder sorts before its content, so the reverse order removes the innermost first.
    let gone: Vec<String> =
        made.iter().rev().filter(|folder| disk::remove_empty(Path::new(folder))).cloned().collect();
    made.retain(|folder| !gone.contains(folder));
    if made.len() == count { Ok(()) } else { remember(home, &made) }
}

/// The listed folders.
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
