//! Puts a whole file into its place, so that a reader finds it whole or as it was before.
//!
//! It must never show a part of a file under the file's own name, nor leave anything behind that [`sweep`] does not find.
//!
//! On Linux the text has no name at all until it is on the disk. A new file is given its name then, in one step. A file that
//! replaces another one needs a name beside it first, as a link can't replace a file; elsewhere every file has that name while
//! it is written. A process that is killed in between leaves it, so it is the same name always.

use std::io::{self, Write as _};

use cap_std::fs::{Dir, File, OpenOptions, Permissions};

/// The name beside the file.
const BESIDE: &str = ".entraclaw-new";

/// Writes a file of this folder. It gets these permissions, or those of a new file.
pub(super) fn put(dir: &Dir, name: &str, text: &str, permissions: Option<Permissions>) -> io::Result<()> {
    let put = place(dir, name, text, permissions);
    if put.is_err() {
        sweep(dir);
    }
    put
}

/// Takes away what a killed process has left in this folder.
pub(super) fn sweep(dir: &Dir) {
    let _ = dir.remove_file(BESIDE);
}

fn place(dir: &Dir, name: &str, text: &str, permissions: Option<Permissions>) -> io::Result<()> {
    if let Some(file) = unnamed(dir)? {
        fill(&file, text, permissions)?;
        if link(dir, name, &file)? {
            return Ok(());
        }
        // One that is there was left by a killed process, as an engine writes one file at a time.
        sweep(dir);
        // What can't be swept is not ours, and must not take the file's name.
        if !link(dir, BESIDE, &file)? {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
    } else {
        sweep(dir);
        fill(&dir.open_with(BESIDE, OpenOptions::new().write(true).create_new(true))?, text, permissions)?;
    }
    dir.rename(BESIDE, dir, name)
}

fn fill(mut file: &File, text: &str, permissions: Option<Permissions>) -> io::Result<()> {
    file.write_all(text.as_bytes())?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    file.sync_all()
}

/// A file without a name, where the file system has such files.
#[cfg(target_os = "linux")]
fn unnamed(dir: &Dir) -> io::Result<Option<File>> {
    use rustix::fs::{Mode, OFlags};
    use rustix::io::Errno;

    let flags = OFlags::CLOEXEC | OFlags::TMPFILE | OFlags::WRONLY;
    match rustix::fs::openat(dir, ".", flags, Mode::from_raw_mode(0o666)) {
        Ok(file) => Ok(Some(File::from_std(std::fs::File::from(file)))),
        // A file system or a kernel without them says one of these: open(2), O_TMPFILE.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "other systems can fail here")]
fn unnamed(_dir: &Dir) -> io::Result<Option<File>> {
    Ok(None)
}

/// Gives a file without a name this one; false if another file has it.
#[cfg(target_os = "linux")]
fn link(dir: &Dir, name: &str, file: &File) -> io::Result<bool> {
    use rustix::fs::{AtFlags, CWD, linkat};
    use std::os::fd::AsRawFd as _;

    let source = format!("/proc/self/fd/{}", file.as_raw_fd());
    match linkat(CWD, source, dir, name, AtFlags::SYMLINK_FOLLOW) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::EXIST) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn link(_dir: &Dir, _name: &str, _file: &File) -> io::Result<bool> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cap_std::ambient_authority;

    fn folder() -> (tempfile::TempDir, Dir) {
        let folder = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
        (folder, dir)
    }

    fn names(dir: &Dir) -> Vec<String> {
        let names = dir.entries().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    }

    #[test]
    fn a_file_is_new_or_replaced_and_nothing_is_beside_it() {
        let (_folder, dir) = folder();
        for text in ["one", "two"] {
            put(&dir, "file", text, None).unwrap();
            assert_eq!(
                (dir.read_to_string("file").unwrap().as_str(), names(&dir)),
                (text, vec!["file".into()])
            );
        }
    }

    #[test]
    fn what_a_killed_process_left_is_in_no_ones_way() {
        let (_folder, dir) = folder();
        dir.write("file", "before").unwrap();
        dir.write(BESIDE, "of a killed process").unwrap();
        put(&dir, "file", "after", None).unwrap();
        assert_eq!(
            (dir.read_to_string("file").unwrap().as_str(), names(&dir)),
            ("after", vec!["file".into()])
        );
        dir.write(BESIDE, "of a killed process").unwrap();
        sweep(&dir);
        assert_eq!(names(&dir), ["file"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_waits_beside_the_file_is_not_followed() {
        let (_folder, dir) = folder();
        dir.write("file", "before").unwrap();
        dir.write("other", "kept").unwrap();
        dir.symlink("other", BESIDE).unwrap();
        put(&dir, "file", "after", None).unwrap();
        assert_eq!(dir.read_to_string("other").unwrap(), "kept");
        assert!(!dir.symlink_metadata("file").unwrap().is_symlink());
    }

    #[test]
    fn a_folder_with_the_name_beside_stays_and_the_file_too() {
        let (_folder, dir) = folder();
        dir.write("file", "before").unwrap();
        dir.create_dir(BESIDE).unwrap();
        assert_eq!(put(&dir, "file", "after", None).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!((dir.read_to_string("file").unwrap().as_str(), dir.is_dir(BESIDE)), ("before", true));
    }

    #[test]
    fn what_can_not_take_its_place_is_not_left_beside_it() {
        let (_folder, dir) = folder();
        dir.create_dir_all("file/inside").unwrap();
        put(&dir, "file", "text", None).unwrap_err();
        assert_eq!(names(&dir), ["file"]);
    }
}
