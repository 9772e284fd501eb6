//! A view of the mounts in which only the granted folders can be written, and a `/proc` that shows only the command's processes.
//!
//! Landlock refuses to write files, but not to change their modes, owners, times and attributes, and it can't take a name out
//! of a folder that is granted. A mount that is read-only does both.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

use super::{Failed, failed};
use crate::pin::{Access, Pin};

const NONE: Option<&str> = None;

/// Memory that processes share by name.
const SHARED_MEMORY: &str = "/dev/shm";

/// What the view gives beside the granted folders.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct View {
    /// `/proc` shows the command's own processes.
    pub(super) proc: bool,
    /// `/dev/shm` is the command's own.
    pub(super) shared_memory: bool,
}

/// Makes the view: `writes` stay writable, `kept` below them do not.
pub(super) fn make<'a>(writes: impl Iterator<Item = &'a Path>, kept: &[Pin]) -> Result<View, Failed> {
    unshare(CloneFlags::CLONE_NEWNS).map_err(failed("a view of mounts"))?;
    mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE)
        .map_err(failed("a private view of mounts"))?;
    let before = points()?;
    let writes: BTreeSet<&Path> = writes.collect();
    for folder in &writes {
        bind(folder)?;
    }
    for (point, flags) in before.iter().filter(|(point, _)| !writes.contains(point.as_path())) {
        read_only(point, *flags)?;
    }
    // What is a mount can't be renamed or removed, even if it may be written inside.
    for pin in kept {
        bind(&pin.path)?;
    }
    if kept.is_empty() {
        return Ok(special());
    }
    let now = points()?;
    for pin in kept.iter().filter(|pin| pin.access == Access::Read) {
        // The last mount of a path is the one that is seen.
        let flags = now.iter().rev().find(|(point, _)| *point == pin.path).map(|(_, flags)| *flags);
        read_only(&pin.path, flags.ok_or_else(|| format!("no mount of {}", pin.path.display()))?)?;
    }
    Ok(special())
}

/// Mounts what is the command's own.
fn special() -> View {
    let guarded = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    let shared = mount(Some("tmpfs"), SHARED_MEMORY, Some("tmpfs"), guarded, Some("size=64m,mode=1777"));
    let proc = mount(Some("proc"), "/proc", Some("proc"), guarded, NONE);
    View { proc: proc.is_ok(), shared_memory: shared.is_ok() }
}

/// Whether a view can be made.
pub(super) fn try_view() -> Result<(), Failed> {
    unshare(CloneFlags::CLONE_NEWNS).map_err(failed("a view of mounts"))?;
    mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE)
        .map_err(failed("a private view of mounts"))?;
    let (point, flags) =
        points()?.into_iter().find(|(point, _)| point == Path::new("/")).ok_or("no mount of /")?;
    read_only(&point, flags)
}

fn bind(path: &Path) -> Result<(), Failed> {
    mount(Some(path), path, NONE, MsFlags::MS_BIND | MsFlags::MS_REC, NONE)
        .map_err(|error| format!("a mount of {}: {error}", path.display()))
}

/// Makes a mount read-only and keeps its other flags, which a user namespace may not take away.
fn read_only(point: &Path, keep: MsFlags) -> Result<(), Failed> {
    let flags = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY | keep;
    match mount(NONE, point, NONE, flags, NONE) {
        // A mount that lies below another one can't be reached by any process in the view.
        Ok(()) | Err(Errno::EINVAL | Errno::ENOENT | Errno::EACCES | Errno::ENOTDIR) => Ok(()),
        Err(error) => Err(format!("a read-only mount of {}: {error}", point.display())),
    }
}

/// All mount points of this process, with the flags that a remount must keep.
///
/// They are read from the list, because asking a mount itself waits for servers that are gone.
#[expect(clippy::disallowed_methods, reason = "/proc is not a file of the server")]
fn points() -> Result<Vec<(PathBuf, MsFlags)>, Failed> {
    let text = std::fs::read("/proc/self/mountinfo").map_err(failed("the list of mounts"))?;
    let point = |line: &[u8]| {
        let mut fields = line.split(|byte| *byte == b' ').skip(4);
        Some((unescape(fields.next()?), flags(&String::from_utf8_lossy(fields.next()?))))
    };
    Ok(text.split(|byte| *byte == b'\n').filter_map(point).collect())
}

fn flags(options: &str) -> MsFlags {
    let flag = |option| match option {
        "nosuid" => MsFlags::MS_NOSUID,
        "nodev" => MsFlags::MS_NODEV,
        "noexec" => MsFlags::MS_NOEXEC,
        "noatime" => MsFlags::MS_NOATIME,
        "nodiratime" => MsFlags::MS_NODIRATIME,
        "relatime" => MsFlags::MS_RELATIME,
        _ => MsFlags::empty(),
    };
    options.split(',').map(flag).collect()
}

/// Spaces and their like are three octal digits after a backslash.
fn unescape(name: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name;
    while let [first, after @ ..] = rest {
        if let (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', tail @ ..]) = (first, after) {
            bytes.push((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'));
            rest = tail;
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    std::ffi::OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_point_with_spaces_is_read() {
        assert_eq!(unescape(br"/a\040b\134c"), PathBuf::from(r"/a b\c"));
    }
}
