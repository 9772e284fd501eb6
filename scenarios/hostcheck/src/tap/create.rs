//! Creates the file of a log: new, readable only by its owner, numbered if its name is taken. It never opens
//! an existing file, so nothing is overwritten and no link is followed.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// The most logs of one name: `wire.jsonl`, `wire.2.jsonl` and so on.
const LOGS_MAX: u64 = 9_999;

/// Creates `name.ext`, or `name.2.ext` and so on, and gives the number too.
pub(super) fn create(path: &Path) -> io::Result<(File, u64)> {
    let mut number = 1;
    loop {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt as _;
            options.mode(0o600);
        }
        match options.open(numbered(path, number)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < LOGS_MAX => number += 1,
            other => return Ok((other?, number)),
        }
    }
}

/// The name of the log with this number; the first has no number in its name.
pub(super) fn numbered(path: &Path, number: u64) -> PathBuf {
    if number == 1 {
        return path.to_owned();
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let ending = path.extension().map(|ending| format!(".{}", ending.to_string_lossy())).unwrap_or_default();
    path.with_file_name(format!("{stem}.{number}{ending}"))
}
