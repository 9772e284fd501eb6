//! Reads a key or certificate from a file that the configuration names, instead of from the store.
//! It must never use a key file that other users may read.

#![expect(
    clippy::disallowed_methods,
    reason = "the adapter that reads key files, which are not in the home folder"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::{self, BoxFuture};

use super::{AuthError, Kept, KeyName, KeyStore, SECRET_BYTES_MAX, store_error};
use entraclaw_seams::secret::Secret;

/// The files of `auth.key_file` and `auth.certificate_file`, with a store for all other secrets.
pub struct GivenFiles {
    /// The PEM private key; only this user may be able to read the file.
    pub key: Option<PathBuf>,
    /// The PEM certificate, which is public.
    pub certificate: Option<PathBuf>,
    /// The store of all other secrets.
    pub behind: Arc<dyn KeyStore>,
}

impl GivenFiles {
    fn file(&self, name: &KeyName) -> Option<(&Path, bool)> {
        match name.kept {
            Kept::PrivateKey => self.key.as_deref().map(|path| (path, true)),
            Kept::Certificate => self.certificate.as_deref().map(|path| (path, false)),
            Kept::RefreshToken => None,
        }
    }
}

impl KeyStore for GivenFiles {
    fn name(&self) -> String {
        self.behind.name()
    }

    fn get<'a>(&'a self, name: &'a KeyName) -> BoxFuture<'a, Result<Option<Secret>, AuthError>> {
        match self.file(name) {
            Some((path, private)) => Box::pin(future::ready(read_pem(path, private).map(Some))),
            None => self.behind.get(name),
        }
    }

    fn put<'a>(&'a self, name: &'a KeyName, secret: &'a Secret) -> BoxFuture<'a, Result<(), AuthError>> {
        self.behind.put(name, secret)
    }

    fn remove<'a>(&'a self, name: &'a KeyName) -> BoxFuture<'a, Result<bool, AuthError>> {
        self.behind.remove(name)
    }
}

/// Reads a PEM file. Only this user may be able to read a private one.
pub fn read_pem(path: &Path, private: bool) -> Result<Secret, AuthError> {
    read_secret(path, private, "name a PEM file")
}

/// Reads a file with a secret. Only this user may be able to read a private one. `fix` is the advice when the
/// file can't be used.
pub(in crate::entra) fn read_secret(
    path: &Path,
    private: bool,
    fix: &'static str,
) -> Result<Secret, AuthError> {
    let shown = path.display();
    let found = fs::metadata(path)
        .map_err(|error| store_error(format!("{shown} can't be read: {error}"), "correct the path"))?;
    if !found.is_file() {
        return Err(store_error(format!("{shown} is not a file"), fix));
    }
    if found.len() > SECRET_BYTES_MAX as u64 {
        return Err(store_error(format!("{shown} has {} bytes", found.len()), fix));
    }
    if private {
        check_private(path, &found)?;
    }
    fs::read_to_string(path)
        .map(Secret::new)
        .map_err(|error| store_error(format!("{shown} can't be read: {error}"), fix))
}

/// Refuses a file that other users may read.
#[cfg(unix)]
pub(super) fn check_private(path: &Path, found: &fs::Metadata) -> Result<(), AuthError> {
    use std::os::unix::fs::MetadataExt as _;
    let (shown, mode) = (path.display(), found.mode() & 0o777);
    if found.uid() != nix::unistd::geteuid().as_raw() {
        return Err(store_error(format!("{shown} belongs to another user"), "use a file of your own"));
    }
    if mode & 0o077 != 0 {
        let problem = format!("{shown} can be read by others (mode {mode:03o})");
        return Err(store_error(
            problem,
            format!("run `chmod 600 {shown}`, and replace what is in it if others did read it"),
        ));
    }
    Ok(())
}

/// On other systems the access list of its folder makes a file private.
#[cfg(not(unix))]
pub(super) fn check_private(_path: &Path, _found: &fs::Metadata) -> Result<(), AuthError> {
    Ok(())
}
