//! The configured way to sign in, with the names that it needs, and the store of secrets.
//! No token or key may be a value here, except a token that was given for development; there are only
//! references.

use std::path::PathBuf;

use entraclaw_inbox::gate::Guid;
use entraclaw_seams::secret::Secret;

use super::Authority;

/// How the agent signs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Auth {
    /// The agent does not sign in: it polls nothing and can send nothing.
    None,
    /// The agent uses a token that the operator got in another way; for development.
    Static(Secret),
    /// The same with a token in a file, which is read at each use, so that a program may renew it at any
    /// time.
    TokenFile(PathBuf),
    /// The agent signs in as an agent user, by its blueprint's certificate and without a person.
    AgentUser(AgentUser),
    /// The agent signs in as an account that a person signed in once with `entraclaw login`.
    Delegated(Delegated),
}

impl Auth {
    /// The value of `auth.mode`; `none` when it is not set.
    pub fn mode(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Static(_) | Self::TokenFile(_) => "static",
            Self::AgentUser(_) => "agent-user",
            Self::Delegated(Delegated { how: LoginBy::DeviceCode, .. }) => "device-code",
            Self::Delegated(Delegated { how: LoginBy::Browser, .. }) => "browser",
        }
    }
}

/// An agent user with its blueprint and its agent identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentUser {
    /// The tenant of all three.
    pub tenant_id: Guid,
    /// The blueprint's application id; it has the certificate.
    pub blueprint_id: Guid,
    /// The agent identity's application id.
    pub agent_id: Guid,
    /// The name of the agent user.
    pub user: AgentUserName,
    /// How assertions are signed.
    pub algorithm: Algorithm,
    /// The certificate's thumbprint, for use without the certificate itself.
    pub thumbprint: Option<Thumbprint>,
    /// A file with the PEM private key, used instead of the key store.
    pub key_file: Option<PathBuf>,
    /// A file with the PEM certificate.
    pub certificate_file: Option<PathBuf>,
}

/// The name of an agent user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentUserName {
    /// Its object id.
    ObjectId(Guid),
    /// Its user principal name.
    PrincipalName(String),
}

/// How an assertion is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// RSA-PSS with SHA-256, which Entra's documentation asks for.
    Ps256,
    /// RSA PKCS#1 with SHA-256, for keys that do not support RSA-PSS.
    Rs256,
}

/// The SHA-256 of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thumbprint(
    /// The hash.
    pub [u8; 32],
);

impl Thumbprint {
    /// Reads 64 hexadecimal digits, with or without colons, or 43 characters of base64url.
    pub fn parse(text: &str) -> Option<Self> {
        use base64::Engine as _;
        let plain: String = text.trim().chars().filter(|c| *c != ':' && *c != ' ').collect();
        if plain.len() == 64 && plain.is_ascii() {
            let mut bytes = [0; 32];
            for (at, byte) in bytes.iter_mut().enumerate() {
                *byte = u8::from_str_radix(plain.get(at * 2..at * 2 + 2)?, 16).ok()?;
            }
            return Some(Self(bytes));
        }
        let bytes =
            base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(plain.trim_end_matches('=')).ok()?;
        bytes.try_into().ok().map(Self)
    }
}

/// An account that a person signs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delegated {
    /// The account's tenant.
    pub tenant_id: Guid,
    /// The application id of a public client.
    pub client_id: Guid,
    /// How the person is asked.
    pub how: LoginBy,
    /// The requested scopes, separated by blanks.
    pub scopes: String,
}

/// How a person is asked to sign in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginBy {
    /// A code that is typed on another device.
    DeviceCode,
    /// A browser on this machine.
    Browser,
}

/// The sign-in service and the store of secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignIn {
    /// The sign-in service.
    pub authority: Authority,
    /// The one store of secrets.
    pub key_store: KeyStoreKind,
}

/// A store of secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyStoreKind {
    /// The operating system's.
    System,
    /// Files with mode 0600 in the home folder.
    File,
}

impl KeyStoreKind {
    /// The store's name in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::File => "file",
        }
    }
}
