//! A key or certificate in a file that the configuration names, before whatever the store has.
//! A key file that others may read must never be used.

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

/// A store behind the files of `auth.key_file` and `auth.certificate_file`.
pub struct GivenFiles {
    /// PEM private key; must be this user's alone.
    pub key: Option<PathBuf>,
    /// PEM certificate, which is public.
    pub certificate: Option<PathBuf>,
    /// Everything else.
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

/// Reads a PEM file. A private one must be this user's alone.
pub fn read_pem(path: &Path, private: bool) -> Result<Secret, AuthError> {
    read_secret(path, private, "name a PEM file")
}

/// Reads a file with a secret. A private one must be this user's alone. `fix` is what helps where it is of another kind.
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

/// Refuses what others may read.
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

/// Elsewhere a file is private by the access list of its folder.
#[cfg(not(unix))]
pub(super) fn check_private(_path: &Path, _found: &fs::Metadata) -> Result<(), AuthError> {
    Ok(())
}
