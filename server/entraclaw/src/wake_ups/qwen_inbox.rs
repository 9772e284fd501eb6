//! The sockets of Qwen Code's protocol on a real machine: our inbox for receipts, and the client of the session's inbox.
//! Claude Code's inbox, which sends no receipts, is in `inbox_socket`.
//! It must never trust a path: the sockets at both ends belong to this user, are no symlinks, and are in folders where no
//! other user can write.

use std::fs::{DirBuilder, Metadata, Permissions, set_permissions, symlink_metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Mutex, OnceCell, Semaphore};
use tokio::task::JoinSet;
use tokio::time::timeout;

use entraclaw_inbox::wake_up::peer::{self, FRAME_BYTES_MAX};
use entraclaw_inbox::wake_up::{PeerHost, Receipt, WakeUpError};
use entraclaw_seams::secret::Secret;

/// Longest path of a socket, in bytes.
const PATH_BYTES_MAX: usize = 103;
/// How long a connection to our inbox may take.
const RECEIPT_LIMIT: Duration = Duration::from_secs(10);
/// How long the session may take to close a connection after it has read all; the first of a session takes two seconds.
const CLOSE_LIMIT: Duration = Duration::from_secs(5);
/// Most connections to our inbox at once.
const CONNECTIONS_MAX: usize = 16;
/// Most sockets of ended processes that are removed at a start.
const SWEPT_MAX: usize = 64;

/// The two ends. Our inbox is bound at the first use and removed at the end.
#[derive(Debug)]
pub(super) struct PeerSockets {
    host: PeerHost,
    inbox: OnceCell<Inbox>,
}

#[derive(Debug)]
struct Inbox {
    path: PathBuf,
    token: Secret,
    /// Held by the task that reads receipts.
    reading: Mutex<Reading>,
}

#[derive(Debug)]
struct Reading {
    listener: UnixListener,
    connections: JoinSet<String>,
    /// The receipts that were read and not returned yet, the newest first.
    waiting: Vec<Receipt>,
    room: Arc<Semaphore>,
}

impl PeerSockets {
    pub(super) fn new(host: PeerHost) -> Self {
        Self { host, inbox: OnceCell::new() }
    }

    /// Writes one message into the session's inbox.
    pub(super) async fn send(&self, id: &str, text: &str) -> Result<(), WakeUpError> {
        let inbox = self.inbox().await?;
        let to = &self.host.socket;
        let refused = |reason: &str| socket_error(to, reason);
        check_socket(to).map_err(|reason| refused(&reason))?;
        let mut stream = UnixStream::connect(to).await.map_err(|error| refused(&error.to_string()))?;
        if !is_ours(&stream) {
            return Err(refused("it belongs to another user"));
        }
        let reply_to = inbox.path.display().to_string();
        let lines = peer::lines(self.host.token.expose(), id, text, &reply_to, inbox.token.expose());
        let torn = |error: io::Error| WakeUpError::Torn {
            path: to.display().to_string(),
            reason: error.to_string(),
        };
        stream.write_all(lines.as_bytes()).await.map_err(torn)?;
        stream.shutdown().await.map_err(torn)?;
        // The session answers at our inbox, not here. It has the message even if it does not close the connection.
        let _ = timeout(CLOSE_LIMIT, stream.read(&mut [0])).await;
        Ok(())
    }

    /// Waits for the next receipt.
    pub(super) async fn receipt(&self) -> Receipt {
        let Ok(inbox) = self.inbox().await else { return std::future::pending().await };
        inbox.reading.lock().await.next(&inbox.token).await
    }

    async fn inbox(&self) -> Result<&Inbox, WakeUpError> {
        self.inbox.get_or_try_init(|| async { Inbox::bind(&self.host.folders) }).await
    }
}

impl Inbox {
    /// Binds a socket in the first folder that allows it.
    fn bind(folders: &[PathBuf]) -> Result<Self, WakeUpError> {
        let mut last = ("no folder".into(), "none is known".to_owned());
        for folder in folders {
            match Self::bind_in(folder) {
                Ok(inbox) => return Ok(inbox),
                Err(reason) => last = (folder.display().to_string(), reason),
            }
        }
        Err(WakeUpError::Inbox { path: last.0, reason: last.1 })
    }

    fn bind_in(folder: &Path) -> Result<Self, String> {
        let told = |error: io::Error| error.to_string();
        make_folder(folder)?;
        sweep(folder);
        let name = format!("qwen-{}-{}.sock", std::process::id(), random_hex(4)?);
        let path = folder.join(name);
        if path.as_os_str().len() > PATH_BYTES_MAX {
            return Err("the path is too long for a socket".to_owned());
        }
        let listener = UnixListener::bind(&path).map_err(told)?;
        set_permissions(&path, Permissions::from_mode(0o600)).map_err(told)?;
        let reading = Reading {
            listener,
            connections: JoinSet::new(),
            waiting: Vec::new(),
            room: Arc::new(Semaphore::new(CONNECTIONS_MAX)),
        };
        Ok(Self { path, token: Secret::new(random_hex(32)?), reading: Mutex::new(reading) })
    }
}

impl Drop for Inbox {
    #[expect(clippy::disallowed_methods, reason = "the socket of this process")]
    fn drop(&mut self) {
        // The next session removes one that stays.
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Reading {
    /// Waits for the next receipt. Dropping the future loses nothing that was read.
    async fn next(&mut self, token: &Secret) -> Receipt {
        loop {
            if let Some(receipt) = self.waiting.pop() {
                return receipt;
            }
            let room = Arc::clone(&self.room).acquire_owned();
            tokio::select! {
                biased;
                Some(read) = self.connections.join_next() => {
                    let mut receipts = peer::receipts(&read.unwrap_or_default(), token.expose());
                    receipts.reverse();
                    self.waiting = receipts;
                }
                accepted = async { (room.await, self.listener.accept().await) } => {
                    let (permit, accepted) = accepted;
                    match accepted {
                        Ok((stream, _)) if is_ours(&stream) => {
                            self.connections.spawn(async move {
                                let _permit = permit;
                                read_all(stream).await
                            });
                        }
                        Ok(_) => tracing::warn!("another user wrote to the inbox for receipts; nothing was read"),
                        // An error such as too many open files passes.
                        Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
                    }
                }
            }
        }
    }
}

/// The text of a connection; empty if it is too long, too slow or no text.
async fn read_all(stream: impl AsyncRead + Unpin) -> String {
    let mut text = String::new();
    let mut limited = stream.take(FRAME_BYTES_MAX as u64 + 1);
    let read = timeout(RECEIPT_LIMIT, limited.read_to_string(&mut text)).await;
    if matches!(read, Ok(Ok(_))) && text.len() <= FRAME_BYTES_MAX { text } else { String::new() }
}

/// Whether the other end is a process of this user.
fn is_ours(stream: &UnixStream) -> bool {
    stream.peer_cred().is_ok_and(|other| other.uid() == nix::unistd::geteuid().as_raw())
}

fn socket_error(path: &Path, reason: &str) -> WakeUpError {
    WakeUpError::Peer { path: path.display().to_string(), reason: reason.to_owned() }
}

/// Whether a path is a socket of this user, in a folder of this user where no other user can write.
fn check_socket(path: &Path) -> Result<(), String> {
    if !path.is_absolute() {
        return Err("it is not an absolute path".to_owned());
    }
    let found = symlink_metadata(path).map_err(|error| error.to_string())?;
    if !found.file_type().is_socket() {
        return Err("it is no socket".to_owned());
    }
    check_owner(&found)?;
    let folder = path.parent().ok_or_else(|| "it has no folder".to_owned())?;
    check_folder(folder, 0o022)
}

/// Checks that a folder belongs to this user and that no other user has the given rights in it.
fn check_folder(folder: &Path, forbidden: u32) -> Result<(), String> {
    let found = symlink_metadata(folder).map_err(|error| error.to_string())?;
    if !found.is_dir() {
        return Err("its folder is a symlink or no folder".to_owned());
    }
    check_owner(&found)?;
    if found.mode() & forbidden != 0 {
        return Err("other users can get into its folder".to_owned());
    }
    Ok(())
}

fn check_owner(found: &Metadata) -> Result<(), String> {
    if found.uid() == nix::unistd::geteuid().as_raw() {
        return Ok(());
    }
    Err("it belongs to another user".to_owned())
}

fn make_folder(folder: &Path) -> Result<(), String> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error.to_string()),
        _ => check_folder(folder, 0o077),
    }
}

/// Removes sockets to which no program listens.
#[expect(clippy::disallowed_methods, reason = "sockets of this program, in a folder of its own")]
fn sweep(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten().take(SWEPT_MAX) {
        let name = entry.file_name();
        let is_ours = name
            .to_str()
            .is_some_and(|name| name.starts_with("qwen-") && name.strip_suffix(".sock").is_some());
        let refused = |path: &Path| {
            let tried = std::os::unix::net::UnixStream::connect(path);
            tried.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
        };
        if is_ours && refused(&entry.path()) {
            // Another session may have removed it first.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

fn random_hex(bytes: usize) -> Result<String, String> {
    let mut random = vec![0; bytes];
    SystemRandom::new().fill(&mut random).map_err(|_| "the system gives no random numbers".to_owned())?;
    Ok(random.iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}")))
}
