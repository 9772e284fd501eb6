//! Checks what is read and written at the path of an inbox socket, with this program's own listener.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

use entraclaw::wake_ups::{ProductionWakeUps, look_at_socket};
use entraclaw_inbox::wake_up::{WakeUpError, WakeUpRequest, WakeUps as _};
use entraclaw_session::config::Secret;
use tempfile::TempDir;
use tokio::io::AsyncReadExt as _;

const CREDENTIAL: &str = "{\"type\":\"auth\",\"token\":\"hush\"}";

/// A folder, and the path of a socket in it that does not exist yet.
fn place() -> (TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("inbox.sock");
    (folder, path)
}

async fn write(path: &Path, line: &str) -> Result<(), WakeUpError> {
    let (path, line) = (path.display().to_string(), line.to_owned());
    let request = WakeUpRequest::Socket { path, credential: Secret::new(CREDENTIAL), line };
    ProductionWakeUps::new(BTreeMap::new()).wake(request).await.map(|_| ())
}

/// Checks that looking and writing are refused for the same reason, and that nothing was sent for certain.
async fn is_refused(path: &Path, why: &str) {
    let error = write(path, "{}").await.unwrap_err();
    assert!(error.to_string().contains(why) && error.is_certain(), "{error}");
    assert!(!error.to_string().contains("hush"), "{error}");
    assert_eq!(look_at_socket(&path.display().to_string()), Err(error));
}

#[tokio::test]
async fn two_lines_are_written_and_the_writing_half_is_closed() {
    let (_folder, path) = place();
    let listener = tokio::net::UnixListener::bind(&path).unwrap();
    assert_eq!(look_at_socket(&path.display().to_string()), Ok(()));
    let read = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        text
    };
    // More than a socket holds at once.
    let line = format!("\"{}\"", "x".repeat(1_000_000));
    let (text, written) = tokio::join!(read, write(&path, &line));
    written.unwrap();
    assert!(text == format!("{CREDENTIAL}\n{line}\n"), "{} bytes", text.len());
}

#[tokio::test]
async fn nothing_is_written_without_a_socket() {
    let (folder, path) = place();
    is_refused(&path, "No such file").await;
    is_refused(folder.path(), "it is not a socket").await;

    #[expect(clippy::disallowed_methods, reason = "the other side's file")]
    std::fs::write(&path, "as it was").unwrap();
    is_refused(&path, "it is not a socket").await;
    #[expect(clippy::disallowed_methods, reason = "the other side's file")]
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text, "as it was");
}

#[tokio::test]
async fn a_symlink_to_an_own_socket_is_not_followed() {
    let (folder, path) = place();
    let listener = UnixListener::bind(&path).unwrap();
    listener.set_nonblocking(true).unwrap();
    let link = folder.path().join("link");
    symlink(&path, &link).unwrap();
    is_refused(&link, "it is a symlink").await;
    assert!(listener.accept().is_err(), "there was no connection");
}

/// Only root can make a file of another user, so this checks nothing for other users.
#[tokio::test]
async fn a_socket_of_another_user_gets_no_token() {
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    let (_folder, path) = place();
    let listener = UnixListener::bind(&path).unwrap();
    listener.set_nonblocking(true).unwrap();
    std::os::unix::fs::chown(&path, Some(65_534), Some(65_534)).unwrap();
    is_refused(&path, "it belongs to another user").await;
    assert!(listener.accept().is_err(), "there was no connection");
}

#[tokio::test]
async fn a_socket_without_its_listener_is_refused() {
    let (_folder, path) = place();
    drop(UnixListener::bind(&path).unwrap());
    assert_eq!(look_at_socket(&path.display().to_string()), Ok(()), "its file is there");
    let error = write(&path, "{}").await.unwrap_err();
    assert!(matches!(error, WakeUpError::Socket { .. }) && error.is_certain(), "{error}");
}

#[tokio::test]
async fn a_listener_that_does_not_read_is_given_up() {
    let (_folder, path) = place();
    let _listener = UnixListener::bind(&path).unwrap();
    let error = write(&path, &"x".repeat(4_000_000)).await.unwrap_err();
    assert!(matches!(error, WakeUpError::TimeUp { limit_ms: 2_000, .. }), "{error}");
    assert!(!error.is_certain(), "a part of it is there");
}
