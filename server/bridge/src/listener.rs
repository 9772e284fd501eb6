//! Opens the socket, and lets in who is this user.
//!
//! The caller holds the lock of the project's store, so no other engine of the project opens it at the same time. It must
//! never trust a path: folder, file and peer are looked at before they are used.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;
use thiserror::Error;
use tokio::net::{UnixListener, UnixStream};

use super::address::Address;

/// Why the socket can't be opened.
#[derive(Debug, Error)]
pub enum SocketError {
    /// The folder is not for this user alone.
    #[error("{}: {why}; the socket's folder must be a folder of this user that no other one may enter (`chmod 700`)", .path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Something else is there.
    #[error("{}: {why}; move it away, or set `mcp.external.socket_path` to another path", .path.display())]
    Taken {
        /// The path of the socket.
        path: PathBuf,
        /// What is there.
        why: &'static str,
    },
    /// The system refuses.
    #[error("{}: the socket can't be opened: {error}", .path.display())]
    System {
        /// The path of the socket.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
}

/// An open socket. Dropped, its file is removed.
#[derive(Debug)]
pub struct Listener {
    inner: UnixListener,
    path: PathBuf,
    /// The file that was made: device and inode.
    made: (u64, u64),
}

impl Listener {
    /// Opens the socket at this address, in a folder for this user alone. A socket that an engine left behind is replaced.
    ///
    /// # Errors
    /// Refuses a folder that others may enter, a symlink, a file that is no socket of this user, and a socket on which an
    /// engine answers.
    pub async fn open(address: &Address) -> Result<Self, SocketError> {
        let path = &address.path;
        let system = |error| SocketError::System { path: path.clone(), error };
        folder(path)?;
        if is_left_behind(path).await? {
            #[expect(
                clippy::disallowed_methods,
                reason = "the socket is no file of the home folder's store"
            )]
            fs::remove_file(path).map_err(system)?;
        }
        let inner = UnixListener::bind(path).map_err(system)?;
        // The folder lets no other user in, so that it does not matter what the mode was until here.
        fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(system)?;
        let made = fs::symlink_metadata(path).map(|found| (found.dev(), found.ino())).map_err(system)?;
        Ok(Self { inner, path: path.clone(), made })
    }

    /// The next client that is this user. Others are turned away and told in the log.
    ///
    /// # Errors
    /// Fails with the error of the system, for example without free descriptors.
    pub async fn accept(&self) -> io::Result<UnixStream> {
        loop {
            let (stream, _) = self.inner.accept().await?;
            let peer = stream.peer_cred()?;
            if peer.uid() == geteuid().as_raw() {
                return Ok(stream);
            }
            tracing::warn!(uid = peer.uid(), "another user was turned away from the delegation socket");
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let now = fs::symlink_metadata(&self.path).map(|found| (found.dev(), found.ino()));
        if now.is_ok_and(|now| now == self.made) {
            #[expect(clippy::disallowed_methods, reason = "the socket is no file of the home folder's store")]
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Connects to the engine at this address, if its socket is one of this user.
///
/// # Errors
/// Fails if no engine listens there, or if another user does.
pub async fn connect(address: &Address) -> io::Result<UnixStream> {
    let found = fs::symlink_metadata(&address.path)?;
    if !found.file_type().is_socket() || found.uid() != geteuid().as_raw() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is no socket of this user"));
    }
    let stream = UnixStream::connect(&address.path).await?;
    if stream.peer_cred()?.uid() != geteuid().as_raw() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "another user listens there"));
    }
    Ok(stream)
}

/// Makes the folder of the socket for this user alone, or sees that it is.
fn folder(socket: &Path) -> Result<(), SocketError> {
    let path = socket.parent().unwrap_or(Path::new("/"));
    let wrong = |why| SocketError::Folder { path: path.to_owned(), why };
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|error| SocketError::System { path: socket.to_owned(), error })?;
    let found =
        fs::symlink_metadata(path).map_err(|error| SocketError::System { path: socket.to_owned(), error })?;
    if found.file_type().is_symlink() {
        return Err(wrong("it is a symlink"));
    }
    if found.uid() != geteuid().as_raw() {
        return Err(wrong("it belongs to another user"));
    }
    if found.mode() & 0o077 != 0 {
        return Err(wrong("other users may enter it"));
    }
    Ok(())
}

/// Whether a socket of this user lies there on which nothing listens.
async fn is_left_behind(path: &Path) -> Result<bool, SocketError> {
    let taken = |why| SocketError::Taken { path: path.to_owned(), why };
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(SocketError::System { path: path.to_owned(), error }),
    };
    if found.file_type().is_symlink() {
        return Err(taken("a symlink lies there"));
    }
    if !found.file_type().is_socket() {
        return Err(taken("a file lies there that is no socket"));
    }
    if found.uid() != geteuid().as_raw() {
        return Err(taken("a socket of another user lies there"));
    }
    match UnixStream::connect(path).await {
        Ok(_) => Err(taken("another engine listens there")),
        Err(_) => Ok(true),
    }
}
