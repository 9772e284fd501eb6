//! The seam to the store of secrets: private keys, certificates and refresh tokens, never access tokens.
//! The configuration names the one store; the program must never silently fall back to another.

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

use super::{AgentUser, AuthError, AuthFailure, Delegated};
use entraclaw_inbox::gate::Guid;
use entraclaw_seams::secret::Secret;

/// The longest secret that is accepted, in bytes.
pub const SECRET_BYTES_MAX: usize = 64 * 1024;

/// The kind of a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kept {
    /// The PEM private key of the blueprint's certificate.
    PrivateKey,
    /// The PEM certificate.
    Certificate,
    /// The refresh token of an account that a person signed in.
    RefreshToken,
}

/// The name of a secret: its kind, its tenant and its application.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyName {
    /// The kind of the secret.
    pub kept: Kept,
    /// The tenant of the application.
    pub tenant_id: Guid,
    /// The application that uses the secret.
    pub client_id: Guid,
}

impl KeyName {
    /// The name as stores use it; it is also a valid file name.
    pub fn text(&self) -> String {
        let kept = match self.kept {
            Kept::PrivateKey => "private-key",
            Kept::Certificate => "certificate",
            Kept::RefreshToken => "refresh-token",
        };
        format!("{kept}.{}.{}", self.tenant_id, self.client_id)
    }
}

impl AgentUser {
    /// The name under which a secret of the blueprint is kept.
    pub fn key_name(&self, kept: Kept) -> KeyName {
        KeyName { kept, tenant_id: self.tenant_id.clone(), client_id: self.blueprint_id.clone() }
    }
}

impl Delegated {
    /// The name under which the refresh token of the sign-in is kept.
    pub fn key_name(&self) -> KeyName {
        let (tenant_id, client_id) = (self.tenant_id.clone(), self.client_id.clone());
        KeyName { kept: Kept::RefreshToken, tenant_id, client_id }
    }
}

/// A store of secrets. Reading may take long, because a system store may ask its owner for a password.
pub trait KeyStore: Send + Sync {
    /// The store's name in messages: `the system's key store`.
    fn name(&self) -> String;
    /// The secret, or `None` when there is none of this name.
    fn get<'a>(&'a self, name: &'a KeyName) -> BoxFuture<'a, Result<Option<Secret>, AuthError>>;
    /// Replaces the secret of this name, and checks that the new one can be read again.
    fn put<'a>(&'a self, name: &'a KeyName, secret: &'a Secret) -> BoxFuture<'a, Result<(), AuthError>>;
    /// Deletes a secret; says whether there was one.
    fn remove<'a>(&'a self, name: &'a KeyName) -> BoxFuture<'a, Result<bool, AuthError>>;
}

fn store_error(problem: impl Into<String>, fix: impl Into<String>) -> AuthError {
    AuthError::new(AuthFailure::KeyStore, problem, fix)
}
