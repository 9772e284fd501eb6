//! Where the socket of a project lies: `delegate/NAME-FINGERPRINT.sock` in the home folder.
//!
//! It must never give two projects one path.

use std::path::{Path, PathBuf};

use entraclaw_seams::hex;
use sha2::{Digest as _, Sha256};
use thiserror::Error;

/// The folder of the sockets, below the home folder.
const FOLDER: &str = "delegate";
/// The longest path of a socket: 108 bytes on Linux, 104 on macOS, with the zero at the end.
const PATH_BYTES_MAX: usize = 103;
/// How much of the fingerprint names a project.
const KEY_BYTES: usize = 6;
/// The longest part of the project's name that is shown.
const NAME_CHARS_MAX: usize = 24;

/// Why a project has no socket.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum AddressError {
    /// The path is too long for the system.
    #[error(
        "the path of the socket has {bytes} bytes, and the system takes {PATH_BYTES_MAX}: {path}; set \
         `mcp.external.socket_path` to a shorter one"
    )]
    TooLong {
        /// The path.
        path: String,
        /// Its length.
        bytes: usize,
    },
}

/// The address of the engine of one project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The socket.
    pub path: PathBuf,
    /// The project, for sentences.
    pub project: PathBuf,
}

impl Address {
    /// The address of a project, given as its one path without symlinks. `told` is the operator's own path.
    ///
    /// # Errors
    /// Fails if the path is longer than the system takes.
    pub fn of(home: &Path, project: &Path, told: Option<PathBuf>) -> Result<Self, AddressError> {
        let path = told.unwrap_or_else(|| home.join(FOLDER).join(format!("{}.sock", project_key(project))));
        let bytes = path.as_os_str().len();
        if bytes > PATH_BYTES_MAX {
            return Err(AddressError::TooLong { path: path.display().to_string(), bytes });
        }
        Ok(Self { path, project: project.to_owned() })
    }
}

/// What names a project in a folder of all projects: a part of its name for people, and a fingerprint of its path.
pub fn project_key(project: &Path) -> String {
    let name = project.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let name: String = name.chars().map(|c| if is_plain(c) { c } else { '-' }).take(NAME_CHARS_MAX).collect();
    let hash = Sha256::digest(project.as_os_str().as_encoded_bytes());
    format!("{name}-{}", hex::of(&hash[..KEY_BYTES]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_project_has_a_path_of_its_own() {
        let of = |project: &str| Address::of(Path::new("/home/alice/.entraclaw"), Path::new(project), None);
        let (one, other) = (of("/home/alice/app").unwrap(), of("/home/alice/src/app").unwrap());
        assert_ne!(one.path, other.path);
        assert_eq!(one, of("/home/alice/app").unwrap());
        let name = one.path.file_name().unwrap().to_string_lossy().into_owned();
        assert!(name.starts_with("app-") && one.path.extension().is_some_and(|end| end == "sock"), "{name}");
        let odd = of("/home/alice/ein Ordner/Größe").unwrap().path;
        assert!(odd.to_string_lossy().is_ascii(), "{odd:?}");
    }

    #[test]
    fn a_path_that_the_system_does_not_take_is_refused_with_the_setting_that_helps() {
        let home = format!("/home/alice/{}", "x".repeat(90));
        let error = Address::of(Path::new(&home), Path::new("/p"), None).unwrap_err().to_string();
        assert!(error.contains("mcp.external.socket_path"), "{error}");
        let told = Address::of(Path::new(&home), Path::new("/p"), Some("/run/user/1000/e.sock".into()));
        assert_eq!(told.unwrap().path, Path::new("/run/user/1000/e.sock"));
    }
}
