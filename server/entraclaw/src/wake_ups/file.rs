//! Adds a line to a file that another program reads: an existing plain file or named pipe of this user.
//! It must never follow a symlink, create a file, or wait for a reader for ever.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::time::Duration;

use entraclaw_inbox::wake_up::WakeUpError;

/// The pause between two tries on a full pipe.
const FULL_RETRY: Duration = Duration::from_millis(10);

/// Checks whether a line may be added at the path. Nothing is written.
pub fn look(path: &str) -> Result<(), WakeUpError> {
    check(path).map(|_| ())
}

/// Adds one line. It first ends an incomplete line of another program.
pub(super) async fn append(path: &str, line: &str) -> Result<(), WakeUpError> {
    let is_pipe = check(path)?;
    let failed = |error: io::Error| refusal(path, &reason(&error));
    let mut file = open(Path::new(path), is_pipe).map_err(failed)?;
    let mut bytes = Vec::with_capacity(line.len() + 2);
    // The path may have changed between the check and the opening.
    judge(path, &file.metadata().map_err(failed)?)?;
    if !is_pipe && lacks_end(&mut file).map_err(failed)? {
        bytes.push(b'\n');
    }
    bytes.extend_from_slice(line.as_bytes());
    bytes.push(b'\n');
    let mut written = 0;
    while written < bytes.len() {
        match file.write(&bytes[written..]) {
            Ok(0) => return Err(torn(path, written, "it takes nothing")),
            Ok(count) => written += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // The caller's time limit ends this loop.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => tokio::time::sleep(FULL_RETRY).await,
            Err(error) => return Err(torn(path, written, &reason(&error))),
        }
    }
    Ok(())
}

fn torn(path: &str, written: usize, reason: &str) -> WakeUpError {
    if written == 0 {
        return refusal(path, reason);
    }
    WakeUpError::Torn { path: path.to_owned(), reason: reason.to_owned() }
}

fn refusal(path: &str, reason: &str) -> WakeUpError {
    WakeUpError::File { path: path.to_owned(), reason: reason.to_owned() }
}

/// The reason of an error. A pipe without a reader has an error of its own, whose text does not help.
fn reason(error: &io::Error) -> String {
    #[cfg(unix)]
    if error.raw_os_error() == Some(nix::errno::Errno::ENXIO as i32) {
        return "no program reads this pipe".to_owned();
    }
    error.to_string()
}

/// Checks the path; returns whether it is a pipe.
fn check(path: &str) -> Result<bool, WakeUpError> {
    if !Path::new(path).is_absolute() {
        return Err(refusal(path, "it is not an absolute path"));
    }
    let found = std::fs::symlink_metadata(path).map_err(|error| refusal(path, &reason(&error)))?;
    judge(path, &found)
}

#[cfg(unix)]
fn judge(path: &str, found: &Metadata) -> Result<bool, WakeUpError> {
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
    if found.is_symlink() {
        return Err(refusal(path, "it is a symlink"));
    }
    let is_pipe = found.file_type().is_fifo();
    if !found.is_file() && !is_pipe {
        return Err(refusal(path, "it is neither a file nor a pipe"));
    }
    if found.uid() != nix::unistd::geteuid().as_raw() {
        return Err(refusal(path, "it belongs to another user"));
    }
    Ok(is_pipe)
}

#[cfg(not(unix))]
fn judge(path: &str, found: &Metadata) -> Result<bool, WakeUpError> {
    if found.is_symlink() {
        return Err(refusal(path, "it is a symlink"));
    }
    if found.is_file() { Ok(false) } else { Err(refusal(path, "it is not a file")) }
}

fn open(path: &Path, is_pipe: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    // A pipe must not be opened for reading too, or this process would count as its reader.
    options.append(true).read(!is_pipe);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        let flags = nix::fcntl::OFlag::O_NOFOLLOW
            | nix::fcntl::OFlag::O_CLOEXEC
            | nix::fcntl::OFlag::O_NONBLOCK
            | nix::fcntl::OFlag::O_NOCTTY;
        options.custom_flags(flags.bits());
    }
    options.open(path)
}

fn lacks_end(file: &mut File) -> io::Result<bool> {
    let Some(last) = file.metadata()?.len().checked_sub(1) else { return Ok(false) };
    file.seek(SeekFrom::Start(last))?;
    let mut byte = [0];
    Ok(file.read(&mut byte)? == 1 && byte[0] != b'\n')
}
