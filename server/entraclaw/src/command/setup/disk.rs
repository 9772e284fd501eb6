//! Reads, replaces and removes the files of hosts.
//!
//! It must never follow a symlink, touch a file of another user, or overwrite a change that was made in the meantime.

#![expect(clippy::disallowed_methods, reason = "hosts' files stand outside the server's own storage")]

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

/// Largest file that is changed.
const FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// The text of a file; `None` if it is missing.
pub(super) fn read(path: &Path) -> Result<Option<String>, String> {
    let Some(found) = look(path)? else { return Ok(None) };
    if found.len() > FILE_BYTES_MAX {
        return Err(format!(
            "it has {} bytes, at most {FILE_BYTES_MAX} are read; make it smaller",
            found.len()
        ));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| format!("it can't be read: {error}"))?;
    file.take(FILE_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("it can't be read: {error}"))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        format!("it is not UTF-8 from byte {} on; save it as UTF-8", error.utf8_error().valid_up_to())
    })?;
    Ok(Some(text))
}

/// The text of a plain file of this user behind a symlink, which is only read; `None` for everything else.
pub(super) fn read_through_link(path: &Path) -> Option<String> {
    let is_link = fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    let real = fs::canonicalize(path).ok().filter(|_| is_link)?;
    read(&real).ok().flatten()
}

/// Checks that a file is a plain file of this user; `None` if it is missing.
fn look(path: &Path) -> Result<Option<Metadata>, String> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("it can't be looked at: {error}")),
    };
    if found.is_symlink() {
        return Err(format!(
            "it is a symlink{}, which is left as it is; add by hand what the same command with --print shows to the file it leads to, then run setup again for the other files; or link its folder instead of the file",
            fs::read_link(path).map_or_else(|_| String::new(), |target| format!(" to {}", target.display()))
        ));
    }
    if !found.is_file() {
        return Err("it is not a plain file; move it away".to_owned());
    }
    if !is_own(&found) {
        return Err("it belongs to another user; run setup as that user, or move it away".to_owned());
    }
    Ok(Some(found))
}

/// Checks the nearest existing folder: it must belong to this user, other users must not be able to write it, and a symlink
/// on the way must stay within one of the `roots`. Returns the real folder if there is such a symlink.
pub(super) fn check_folder(path: &Path, roots: &[PathBuf]) -> Result<Option<PathBuf>, String> {
    let mut folder = path.parent();
    while let Some(here) = folder {
        match fs::metadata(here) {
            Ok(found) if !found.is_dir() => {
                return Err(format!("{} is not a folder; move it away", here.display()));
            }
            Ok(found) if !is_own(&found) => {
                return Err(format!("the folder {} belongs to another user", here.display()));
            }
            Ok(found) if is_open(&found) => {
                let here = here.display();
                return Err(format!(
                    "every user can write to the folder {here}; run `chmod o-w {here}` first"
                ));
            }
            Ok(found) if !takes_files(here, &found) => {
                let here = here.display();
                return Err(format!(
                    "nothing can be written in the folder {here}; run `chmod u+wx {here}` first"
                ));
            }
            Ok(_) => return leads_to(here, roots),
            Err(error) if error.kind() == io::ErrorKind::NotFound && here.is_symlink() => {
                let here = here.display();
                return Err(format!(
                    "the folder {here} is a symlink that leads nowhere; remove it, or make the folder that it leads to"
                ));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => folder = here.parent(),
            Err(error) => return Err(format!("the folder {} can't be looked at: {error}", here.display())),
        }
    }
    Ok(None)
}

/// The real folder behind a symlink, if there is one. A symlink out of the `roots` is refused, as a stranger may have put
/// it into a project.
fn leads_to(folder: &Path, roots: &[PathBuf]) -> Result<Option<PathBuf>, String> {
    // Folders above a root belong to the machine.
    let is_below_a_root = |here: &&Path| !roots.iter().any(|root| root.starts_with(here));
    let link = folder.ancestors().filter(is_below_a_root).find(|here| here.is_symlink());
    let Some(link) = link else { return Ok(None) };
    let real = fs::canonicalize(folder)
        .map_err(|error| format!("the folder {} can't be followed: {error}", folder.display()))?;
    if roots.iter().filter_map(|root| fs::canonicalize(root).ok()).any(|root| real.starts_with(root)) {
        return Ok(Some(real));
    }
    Err(format!(
        "the folder {} is a symlink that leads to {}, outside of what setup may change; put a folder in its place, or write by hand what the same command with --print shows",
        link.display(),
        real.display()
    ))
}

/// Checks that the file is not write-protected; a missing one is fine.
pub(super) fn check_file(path: &Path) -> Result<(), String> {
    if look(path)?.is_some_and(|found| found.permissions().readonly()) {
        return Err(format!("it is protected from being written; run `chmod u+w {}` first", path.display()));
    }
    Ok(())
}

/// The missing folders above a file, outermost first.
pub(super) fn missing_folders(path: &Path) -> Vec<PathBuf> {
    let above = path.ancestors().skip(1).take_while(|folder| !folder.as_os_str().is_empty());
    let mut missing: Vec<PathBuf> = above.take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
    missing.reverse();
    missing
}

/// Makes folders for this user alone.
pub(super) fn make_folders(folders: &[PathBuf]) -> Result<(), String> {
    for folder in folders {
        make_folder(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    Ok(())
}

/// Removes a folder if it is empty, and returns whether it is gone.
pub(super) fn remove_empty(folder: &Path) -> bool {
    // This fails if the folder is not empty.
    fs::remove_dir(folder).is_ok() || fs::symlink_metadata(folder).is_err()
}

/// Writes the text or removes the file, if the file still has the text from before.
pub(super) fn replace(path: &Path, before: Option<&str>, after: Option<&str>) -> Result<(), String> {
    let at = |error: io::Error| format!("{}: {error}", path.display());
    let is_same = || {
        Ok::<_, String>(
            read(path).map_err(|error| format!("{}: {error}", path.display()))?.as_deref() == before,
        )
    };
    if before == after {
        return Ok(());
    }
    let changed =
        || format!("{}: it was changed just now by another program; run setup again", path.display());
    let Some(after) = after else {
        return if is_same()? { remove(path) } else { Err(changed()) };
    };
    let sibling = sibling(path, after, path).map_err(at)?;
    if !is_same()? {
        return Err(changed());
    }
    let placed = match before {
        Some(_) => sibling.persist(path).map(|_| ()),
        None => sibling.persist_noclobber(path).map(|_| ()),
    };
    placed.map_err(|error| at(error.error))?;
    sync_folder(path).map_err(at)
}

/// Writes a backup with the mode of the file; an existing backup is replaced.
pub(super) fn keep(backup: &Path, text: &str, like: &Path) -> Result<(), String> {
    let at = |error: io::Error| format!("{}: {error}", backup.display());
    if look(backup).map_err(|problem| format!("{}: {problem}", backup.display()))?.is_some()
        && read(backup)?.as_deref() == Some(text)
    {
        return Ok(());
    }
    let sibling = sibling(backup, text, like).map_err(at)?;
    sibling.persist(backup).map_err(|error| at(error.error))?;
    sync_folder(backup).map_err(at)
}

/// Removes a file; a missing one is fine.
pub(super) fn remove(path: &Path) -> Result<(), String> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(format!("{}: {error}", path.display())),
        _ => Ok(()),
    }
}

/// A new file with the text in the same folder. It has the mode of the file `like`, or else is private to this user.
fn sibling(path: &Path, text: &str, like: &Path) -> io::Result<tempfile::NamedTempFile> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let mut sibling = tempfile::Builder::new().prefix(".entraclaw-").suffix(".tmp").tempfile_in(folder)?;
    sibling.write_all(text.as_bytes())?;
    if let Ok(found) = fs::symlink_metadata(like) {
        sibling.as_file().set_permissions(found.permissions())?;
    }
    sibling.as_file().sync_all()?;
    Ok(sibling)
}

#[cfg(unix)]
fn is_own(found: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    found.uid() == nix::unistd::geteuid().as_raw()
}

/// On Windows the inherited access list makes a user's folders private.
#[cfg(not(unix))]
fn is_own(_found: &Metadata) -> bool {
    true
}

/// Whether this user can create files in a folder.
#[cfg(unix)]
fn takes_files(folder: &Path, found: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    use nix::unistd::{AccessFlags, access};
    found.mode() & 0o300 == 0o300 && access(folder, AccessFlags::W_OK | AccessFlags::X_OK).is_ok()
}

#[cfg(not(unix))]
fn takes_files(_folder: &Path, found: &Metadata) -> bool {
    !found.permissions().readonly()
}

#[cfg(unix)]
fn is_open(found: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    found.mode() & 0o002 != 0
}

#[cfg(not(unix))]
fn is_open(_found: &Metadata) -> bool {
    false
}

#[cfg(unix)]
fn make_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn make_folder(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().create(folder)
}

/// Makes the new name survive a power cut.
#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

#[cfg(not(unix))]
fn sync_folder(_path: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_folder_without_content_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (full, empty) = (folder.path().join("full"), folder.path().join("empty"));
        make_folders(&[full.clone(), empty.clone()]).unwrap();
        fs::write(full.join("settings.json"), "{}").unwrap();
        assert!(!remove_empty(&full) && full.join("settings.json").exists());
        assert!(remove_empty(&empty) && !empty.exists());
        assert!(remove_empty(&empty), "it is gone already");
    }
}
