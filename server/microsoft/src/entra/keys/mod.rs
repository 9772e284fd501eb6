//! The seam to where secrets are kept: private keys, certificates and refresh tokens. Never access tokens.
//! There is one store, which the configuration names; nothing may fall back to another without being told.

mod file;
mod given;
mod memory;
mod production;
mod system;

use futures_util::future::BoxFuture;

pub use file::FileKeyStore;
pub(super) use given::read_secret;
pub use given::{GivenFiles, read_pem};
pub use memory::MemoryKeyStore;
pub use production::{chosen_store, production_store, with_files};
pub use system::SystemKeyStore;

use super::{AuthError, AuthFailure};
use entraclaw_inbox::gate::Guid;
use entraclaw_seams::secret::Secret;

/// The longest secret that is taken, in bytes.
pub const SECRET_BYTES_MAX: usize = 64 * 1024;

/// What is kept under one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kept {
    /// The PEM private key of the blueprint's certificate.
    PrivateKey,
    /// The PEM certificate.
    Certificate,
    /// The refresh token of a person's or an account's sign-in.
    RefreshToken,
}

/// The name of a secret: what it is, and for which application of which tenant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyName {
    /// What it is.
    pub kept: Kept,
    /// Of which tenant.
    pub tenant_id: Guid,
    /// Of which application.
    pub client_id: Guid,
}

impl KeyName {
    /// As stores know it; also a good file name.
    pub fn text(&self) -> String {
        let kept = match self.kept {
            Kept::PrivateKey => "private-key",
            Kept::Certificate => "certificate",
            Kept::RefreshToken => "refresh-token",
        };
        format!("{kept}.{}.{}", self.tenant_id, self.client_id)
    }
}

/// Keeps secrets. Reading may take long: a system store may ask its owner for a password.
pub trait KeyStore: Send + Sync {
    /// What it is called in messages: `the system's key store`.
    fn name(&self) -> String;
    /// The secret, or `None` when there is none of this name.
    fn get<'a>(&'a self, name: &'a KeyName) -> BoxFuture<'a, Result<Option<Secret>, AuthError>>;
    /// Keeps a secret in the place of what was there, and has checked that it can be read again.
    fn put<'a>(&'a self, name: &'a KeyName, secret: &'a Secret) -> BoxFuture<'a, Result<(), AuthError>>;
    /// Forgets a secret; says whether there was one.
    fn remove<'a>(&'a self, name: &'a KeyName) -> BoxFuture<'a, Result<bool, AuthError>>;
}

fn store_error(problem: impl Into<String>, fix: impl Into<String>) -> AuthError {
    AuthError::new(AuthFailure::KeyStore, problem, fix)
}
