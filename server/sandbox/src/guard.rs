//! Takes away what appeared under a protected name while a command ran.
//!
//! What was there before can't be written at all. A name that was not there can't be refused by the kernel, so it is moved out
//! of the project when the command has ended, before its answer is told. Until then it is there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::protected::{PROTECTED_IN_GIT, protected};

/// The most entries that one look at a folder reads: more than a command can make in its time, so that none can hide a name
/// behind many others.
const ENTRIES_MAX: usize = 100_000_000;

/// What tells one file from another: device and inode.
type Identity = (u64, u64);

/// The protected names of a folder, as they were.
#[derive(Debug, Clone)]
pub struct Guard {
    folder: PathBuf,
    before: BTreeMap<PathBuf, Identity>,
}

impl Guard {
    /// Looks at a folder.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), before: find(folder) }
    }

    /// The protected files and folders that were there, and whether they may be written inside: so it is with the project's
    /// own repository, whose protected parts follow by themselves.
    #[cfg(target_os = "linux")]
    pub(crate) fn kept(&self) -> impl Iterator<Item = (PathBuf, bool)> + '_ {
        let repository = self.folder.join(".git");
        self.before.keys().filter_map(move |path| {
            let found = std::fs::symlink_metadata(path).ok()?;
            (!found.is_symlink()).then(|| (path.clone(), found.is_dir() && *path == repository))
        })
    }

    /// Moves what is new under a protected name to another folder, or removes it if it can't be moved.
    ///
    /// The paths that are returned are relative to the folder.
    pub fn take_away(&self, to: &Path) -> Vec<PathBuf> {
        let mut taken = Vec::new();
        for (path, identity) in find(&self.folder) {
            // What was there before may have been moved with a folder around it.
            if self.before.values().any(|known| *known == identity) {
                continue;
            }
            let Ok(relative) = path.strip_prefix(&self.folder) else { continue };
            if remove(&path, to, relative) {
                taken.push(relative.to_owned());
            }
        }
        taken
    }
}

#[expect(clippy::disallowed_methods, reason = "it is files of a person's project, not of the server")]
fn remove(path: &Path, to: &Path, relative: &Path) -> bool {
    let target = to.join(relative);
    let made = target.parent().is_some_and(|folder| std::fs::create_dir_all(folder).is_ok());
    if made && std::fs::rename(path, &target).is_ok() {
        return true;
    }
    let is_folder = std::fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    if is_folder { std::fs::remove_dir_all(path).is_ok() } else { std::fs::remove_file(path).is_ok() }
}

/// Everything with a protected name, without looking inside it and without following links; and what is protected inside the
/// project's own repository.
fn find(folder: &Path) -> BTreeMap<PathBuf, Identity> {
    let mut found = BTreeMap::new();
    let mut note = |path: PathBuf| {
        if let Ok(metadata) = std::fs::symlink_metadata(&path) {
            found.insert(path, identity(&metadata));
        }
    };
    for name in PROTECTED_IN_GIT {
        note(folder.join(".git").join(name));
    }
    let mut open = vec![folder.to_owned()];
    let mut entries = 0;
    while let Some(next) = open.pop() {
        let Ok(listed) = std::fs::read_dir(&next) else { continue };
        for entry in listed.flatten() {
            entries += 1;
            if entries > ENTRIES_MAX {
                tracing::warn!(target: "sandbox", folder = %folder.display(), "too many files to look for protected names");
                return found;
            }
            if protected(Path::new(&entry.file_name())).is_some() {
                note(entry.path());
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(entry.path());
            }
        }
    }
    found
}

#[cfg(unix)]
fn identity(metadata: &std::fs::Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt as _;

    (metadata.dev(), metadata.ino())
}

/// The time of creation stands in for the inode.
#[cfg(not(unix))]
fn identity(metadata: &std::fs::Metadata) -> Identity {
    let created = metadata.created().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    (metadata.len(), created.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_new_is_taken_away() {
        let folder = tempfile::tempdir().unwrap();
        let to = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join(".vscode")).unwrap();
        let guard = Guard::new(folder.path());
        std::fs::create_dir_all(folder.path().join("a/.git/hooks")).unwrap();
        std::fs::write(folder.path().join("a/.envrc"), "x").unwrap();
        std::fs::write(folder.path().join("a/kept"), "x").unwrap();
        let taken = guard.take_away(to.path());
        assert_eq!(taken, [PathBuf::from("a/.envrc"), PathBuf::from("a/.git")]);
        assert!(folder.path().join("a/kept").exists() && folder.path().join(".vscode").exists());
        assert!(!folder.path().join("a/.git").exists() && to.path().join("a/.envrc").exists());
    }
}
