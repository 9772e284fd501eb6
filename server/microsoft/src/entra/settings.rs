//! One way to sign in, with the names that it needs, and where secrets are kept.
//! A token or key is never a value here, but for a token that was given for development; only where to find one.

use std::path::PathBuf;

use entraclaw_inbox::gate::Guid;
use entraclaw_seams::secret::Secret;

use super::Authority;

/// How the agent signs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Auth {
    /// Not at all: nothing is polled and nothing can be sent.
    None,
    /// With a token that somebody else got; for development.
    Static(Secret),
    /// The same, with the token in a file, which is read at each need: a program that renews it need not tell.
    TokenFile(PathBuf),
    /// As an agent user, by its blueprint's certificate; nobody is asked.
    AgentUser(AgentUser),
    /// As an account that a person signed in once with `entraclaw login`.
    Delegated(Delegated),
}

impl Auth {
    /// `auth.mode`, as it is written; `none` when it is not.
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

/// An agent user and what it hangs on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentUser {
    /// The tenant of all three.
    pub tenant_id: Guid,
    /// The blueprint's application id; it has the certificate.
    pub blueprint_id: Guid,
    /// The agent identity's application id.
    pub agent_id: Guid,
    /// The agent user.
    pub user: AgentUserName,
    /// How assertions are signed.
    pub algorithm: Algorithm,
    /// The certificate's thumbprint, where the certificate itself is not given.
    pub thumbprint: Option<Thumbprint>,
    /// PEM private key in a file instead of the key store.
    pub key_file: Option<PathBuf>,
    /// PEM certificate in a file.
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
    /// RSA PKCS#1 with SHA-256, for keys that can't do better.
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
    /// A public client application.
    pub client_id: Guid,
    /// How the person is asked.
    pub how: LoginBy,
    /// What is asked for, separated by blanks.
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

/// Where to sign in, and where secrets are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignIn {
    /// Where.
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
    /// As the configuration says it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::File => "file",
        }
    }
}
