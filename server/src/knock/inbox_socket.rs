//! The inbox socket that Claude Code gives to the programs that it starts: where it is, and how two lines get there.
//! Qwen Code's, which says what became of a message, is `peer`; `inbox` has its sockets.
//! It must never write to a socket of another user, follow a symlink, or wait for a reader for ever.
//!
//! Documented by the vendor for a session's own scripts; the frame after the first line was observed on 2.1.330. It names
//! no session: the id changes with `/clear` and `/resume`, and a frame with another id than the present one is dropped.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;

use super::{KnockError, KnockRequest};
use crate::config::Secret;

const SOCKET_VARIABLE: &str = "CLAUDE_CODE_MESSAGING_SOCKET";
const TOKEN_VARIABLE: &str = "CLAUDE_CODE_MESSAGING_TOKEN";

/// The variables that say where it is, and what opens it.
pub const INBOX_VARIABLES: [&str; 2] = [SOCKET_VARIABLE, TOKEN_VARIABLE];

/// Longest value of one of them, in bytes.
const VALUE_BYTES_MAX: usize = 4_096;

/// The inbox of the session that started this server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxSocket {
    /// The socket's absolute path.
    pub path: String,
    /// What the first line must hold.
    pub token: Secret,
}

impl InboxSocket {
    /// What a host's environment says; `None` where a variable is missing or is none that a host would write.
    pub fn from_variables(variables: &BTreeMap<String, String>) -> Option<Self> {
        let value = |name: &str| {
            let value = variables.get(name)?;
            let is_usable =
                !value.is_empty() && value.len() <= VALUE_BYTES_MAX && !value.contains(char::is_control);
            is_usable.then(|| value.clone())
        };
        let path = value(SOCKET_VARIABLE).filter(|path| Path::new(path).is_absolute())?;
        Some(Self { path, token: Secret::new(value(TOKEN_VARIABLE)?) })
    }

    /// What brings `text` to the session.
    pub(super) fn frame(&self, text: &str) -> KnockRequest {
        let credential = json!({"type": "auth", "token": self.token.expose()}).to_string();
        let message = json!({"role": "user", "content": text});
        let line = json!({"type": "user", "message": message}).to_string();
        KnockRequest::Socket { path: self.path.clone(), credential: Secret::new(credential), line }
    }
}

fn refusal(path: &str, reason: impl Into<String>) -> KnockError {
    KnockError::Socket { path: path.to_owned(), reason: reason.into() }
}

/// What is at the path, if it may be written to. Nothing is written.
#[cfg(unix)]
pub fn look(path: &str) -> Result<(), KnockError> {
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

/// Writes the two lines and closes that half.
#[cfg(unix)]
pub(super) async fn write(path: &str, credential: &Secret, line: &str) -> Result<(), KnockError> {
    use tokio::io::AsyncWriteExt as _;
    look(path)?;
    let failed = |error: std::io::Error| refusal(path, error.to_string());
    let mut socket = tokio::net::UnixStream::connect(path).await.map_err(failed)?;
    // Between the look and the connection another one may have come to the path.
    if socket.peer_cred().map_err(failed)?.uid() != nix::unistd::geteuid().as_raw() {
        return Err(refusal(path, "another user listens there"));
    }
    let torn = |error: std::io::Error| KnockError::Torn { path: path.to_owned(), reason: error.to_string() };
    let lines = format!("{}\n{line}\n", credential.expose());
    socket.write_all(lines.as_bytes()).await.map_err(torn)?;
    socket.shutdown().await.map_err(torn)
}

/// The host has a named pipe there, which nothing here writes to.
#[cfg(not(unix))]
pub fn look(path: &str) -> Result<(), KnockError> {
    Err(refusal(path, "this system's form of it is not supported"))
}

#[cfg(not(unix))]
pub(super) async fn write(path: &str, _credential: &Secret, _line: &str) -> Result<(), KnockError> {
    look(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn an_inbox_is_there_when_both_variables_are() {
        let all = [(SOCKET_VARIABLE, "/tmp/s.sock"), (TOKEN_VARIABLE, "hush")];
        let inbox = InboxSocket::from_variables(&variables(&all)).unwrap();
        assert_eq!((inbox.path.as_str(), inbox.token.expose()), ("/tmp/s.sock", "hush"));
        for one in all {
            assert_eq!(InboxSocket::from_variables(&variables(&[one])), None);
        }
        for bad in [("", "hush"), ("s.sock", "hush"), ("/s", "hu\nsh"), ("/s", "")] {
            let pairs = [(SOCKET_VARIABLE, bad.0), (TOKEN_VARIABLE, bad.1)];
            assert_eq!(InboxSocket::from_variables(&variables(&pairs)), None, "{bad:?}");
        }
    }

    #[test]
    fn the_token_is_in_the_first_line_alone_and_in_no_log() {
        let inbox = InboxSocket { path: "/tmp/s.sock".to_owned(), token: Secret::new("hush") };
        let frame = inbox.frame("line one\nline \"two\"");
        assert!(!format!("{inbox:?} {frame:?}").contains("hush"));
        let KnockRequest::Socket { credential, line, .. } = frame else { panic!("no socket") };
        assert_eq!(credential.expose(), r#"{"type":"auth","token":"hush"}"#);
        assert_eq!(line, r#"{"type":"user","message":{"role":"user","content":"line one\nline \"two\""}}"#);
    }
}
