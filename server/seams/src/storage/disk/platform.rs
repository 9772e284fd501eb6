//! The differences between operating systems: owners, modes, and how a folder is synced.
//!
//! It must never decide anything about content. On Windows the inherited access list makes the home folder private, so
//! the checks of owner and mode do nothing there.

use std::fs::{self, Metadata, OpenOptions};
use std::io;
use std::path::Path;

use crate::storage::Stamp;

#[cfg(unix)]
const FOLDER_MODE: u32 = 0o700;
#[cfg(unix)]
const FILE_MODE: u32 = 0o600;

/// Makes new files private to this user, and refuses to follow a symlink.
#[cfg(unix)]
pub(super) fn private(options: &mut OpenOptions) -> &OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    let no_symlinks = nix::fcntl::OFlag::O_NOFOLLOW | nix::fcntl::OFlag::O_CLOEXEC;
    options.mode(FILE_MODE).custom_flags(no_symlinks.bits())
}

#[cfg(not(unix))]
pub(super) fn private(options: &mut OpenOptions) -> &OpenOptions {
    options
}

/// A stamp of a file's state: its place, its length, and when it was last written and changed.
#[cfg(unix)]
pub(super) fn stamp(found: &Metadata) -> Stamp {
    use std::os::unix::fs::MetadataExt;
    let moment = |seconds: i64, nanos: i64| seconds.wrapping_mul(1_000_000_000).wrapping_add(nanos);
    let written = moment(found.mtime(), found.mtime_nsec());
    let touched = moment(found.ctime(), found.ctime_nsec());
    Stamp([found.ino(), found.len(), written.cast_unsigned(), touched.cast_unsigned()])
}

#[cfg(windows)]
pub(super) fn stamp(found: &Metadata) -> Stamp {
    use std::os::windows::fs::MetadataExt;
    Stamp([found.creation_time(), found.len(), found.last_write_time(), 0])
}

/// Creates one folder for this user alone.
#[cfg(unix)]
pub(super) fn create_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().mode(FOLDER_MODE).create(folder)
}

#[cfg(not(unix))]
pub(super) fn create_folder(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().create(folder)
}

/// Checks that an existing folder belongs to this user. A folder that others can read is closed to them. A folder that
/// others can write is refused, as they may have put anything there, and the user must look at it.
#[cfg(unix)]
pub(super) fn claim_folder(folder: &Path, found: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    check_folder(folder, found)?;
    if found.mode() & 0o077 != 0 {
        fs::set_permissions(folder, fs::Permissions::from_mode(FOLDER_MODE)).map_err(super::at(folder))?;
    }
    Ok(())
}

/// The same checks, without closing the folder.
#[cfg(unix)]
pub(super) fn check_folder(folder: &Path, found: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    if found.uid() != nix::unistd::geteuid().as_raw() {
        return Err(super::refusal(
            folder,
            "belongs to another user; set ENTRACLAW_HOME to a folder of your own",
        ));
    }
    let mode = found.mode() & 0o777;
    if mode & 0o022 != 0 {
        let why = format!(
            "can be written by others (mode {mode:03o}); look what is in it, then run `chmod 700` on it"
        );
        return Err(super::refusal(folder, &why));
    }
    Ok(())
}

#[cfg(not(unix))]
pub(super) fn claim_folder(_folder: &Path, _found: &Metadata) -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
pub(super) fn check_folder(_folder: &Path, _found: &Metadata) -> io::Result<()> {
    Ok(())
}

/// Checks that other users can't change the target of a symlink.
#[cfg(unix)]
pub(super) fn check_link_target(target: &Path, found: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let own = nix::unistd::geteuid().as_raw();
    if found.uid() != own && found.uid() != 0 {
        return Err(super::refusal(target, "belongs to another user; copy it into the home folder"));
    }
    if found.mode() & 0o002 != 0 {
        return Err(super::refusal(target, "can be written by others; run `chmod o-w` on it"));
    }
    Ok(())
}

#[cfg(not(unix))]
pub(super) fn check_link_target(_target: &Path, _found: &Metadata) -> io::Result<()> {
    Ok(())
}

/// Makes names in a folder survive a power cut.
#[cfg(unix)]
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    fs::File::open(folder)?.sync_all()
}

/// Windows has no such call, and NTFS journals names by itself.
#[cfg(not(unix))]
pub(super) fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

/// Most paths that are reported as open to others.
#[cfg(unix)]
const OPEN_NAMES_MAX: usize = 8;

/// Adds the files and folders below `folder` that others may read or write, as paths from `root`. Symlinks are skipped.
#[cfg(unix)]
pub(super) fn list_open(root: &Path, folder: &Path, open: &mut Vec<String>) {
    use std::os::unix::fs::MetadataExt;
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort_unstable();
    for path in paths {
        let Ok(found) = fs::symlink_metadata(&path) else { continue };
        if open.len() >= OPEN_NAMES_MAX || found.is_symlink() {
            continue;
        }
        if found.mode() & 0o077 != 0 {
            open.push(path.strip_prefix(root).unwrap_or(&path).display().to_string());
        }
        if found.is_dir() {
            list_open(root, &path, open);
        }
    }
}

#[cfg(not(unix))]
pub(super) fn list_open(_root: &Path, _folder: &Path, _open: &mut Vec<String>) {}

/// Why a folder can't be written, if so.
#[cfg(unix)]
pub(super) fn write_problem(folder: &Path) -> Option<String> {
    use nix::unistd::{AccessFlags, access};
    access(folder, AccessFlags::W_OK | AccessFlags::X_OK).err().map(|error| error.desc().to_owned())
}

#[cfg(not(unix))]
pub(super) fn write_problem(folder: &Path) -> Option<String> {
    let found = fs::metadata(folder).ok()?;
    found.permissions().readonly().then(|| "it is marked read-only".to_owned())
}

/// Why a folder can't be listed and written, if so.
#[cfg(unix)]
pub(super) fn use_problem(folder: &Path) -> Option<String> {
    use nix::unistd::{AccessFlags, access};
    let every = AccessFlags::R_OK | AccessFlags::W_OK | AccessFlags::X_OK;
    access(folder, every).err().map(|error| error.desc().to_owned())
}

#[cfg(not(unix))]
pub(super) fn use_problem(folder: &Path) -> Option<String> {
    write_problem(folder)
}

/// Bytes that this user can still write to a folder's disk.
#[cfg(unix)]
pub(super) fn free_bytes(folder: &Path) -> Option<u64> {
    let found = nix::sys::statvfs::statvfs(folder).ok()?;
    #[expect(clippy::useless_conversion, reason = "the counts are narrower on other systems")]
    u64::from(found.blocks_available()).checked_mul(u64::from(found.fragment_size()))
}

#[cfg(not(unix))]
pub(super) fn free_bytes(_folder: &Path) -> Option<u64> {
    None
}
