//! Writes two lines to the inbox socket that Claude Code gives to the programs that it starts.
//! It must never write to a socket of another user, follow a symlink, or wait for a reader for ever.

use entraclaw_inbox::wake_up::WakeUpError;
use entraclaw_seams::secret::Secret;

fn refusal(path: &str, reason: impl Into<String>) -> WakeUpError {
    WakeUpError::Socket { path: path.to_owned(), reason: reason.into() }
}

/// Checks whether the path may be written to. Nothing is written.
#[cfg(unix)]
pub fn look(path: &str) -> Result<(), WakeUpError> {
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
    let found = std::fs::symlink_metadata(path).map_err(|error| refusal(path, error.to_string()))?;
    if found.is_symlink() {
        return Err(refusal(path, "it is a symlink"));
    }
    if !found.file_type().is_socket() {
        return Err(refusal(path, "it is not a socket"));
    }
    if found.uid() != nix::unistd::geteuid().as_raw() {
        return Err(refusal(path, "it belongs to another user"));
    }
    Ok(())
}

/// Writes the two lines and closes the writing half.
#[cfg(unix)]
pub(super) async fn write(path: &str, credential: &Secret, line: &str) -> Result<(), WakeUpError> {
    use tokio::io::AsyncWriteExt as _;
    look(path)?;
    let failed = |error: std::io::Error| refusal(path, error.to_string());
    let mut socket = tokio::net::UnixStream::connect(path).await.map_err(failed)?;
    // The path may have changed between the check and the connection.
    if socket.peer_cred().map_err(failed)?.uid() != nix::unistd::geteuid().as_raw() {
        return Err(refusal(path, "another user listens there"));
    }
    let torn = |error: std::io::Error| WakeUpError::Torn { path: path.to_owned(), reason: error.to_string() };
    let lines = format!("{}\n{line}\n", credential.expose());
    socket.write_all(lines.as_bytes()).await.map_err(torn)?;
    socket.shutdown().await.map_err(torn)
}

/// The host uses a named pipe there, which is not supported.
#[cfg(not(unix))]
pub fn look(path: &str) -> Result<(), WakeUpError> {
    Err(refusal(path, "this system's form of it is not supported"))
}

#[cfg(not(unix))]
pub(super) async fn write(path: &str, _credential: &Secret, _line: &str) -> Result<(), WakeUpError> {
    look(path)
}
