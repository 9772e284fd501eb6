//! `[auth]`: one way to sign in, with the names that it needs.
//! A token or key is never a value here; only where to find one.

use std::path::PathBuf;

use super::Secret;
use super::error::Origin;
use super::key::{self, Key};
use super::load::Loader;
use crate::entra;
use crate::gate::Guid;

/// What a person's or account's own sign-in asks for.
const SCOPES_DEFAULT: &str = "offline_access User.Read Chat.Read ChatMessage.Send";
/// What it also asks for when mail is switched on.
const SCOPES_FOR_MAIL: &str = "Mail.ReadWrite Mail.Send";
const SCOPES_CHARS_MAX: usize = 1_000;
const MODE_NAMES: [&str; 4] = ["agent-user", "device-code", "browser", "static"];
const MODES: &str = "write \"agent-user\", \"device-code\", \"browser\" or \"static\"";
const TOKEN_FIX: &str = "set ENTRACLAW_ACCESS_TOKEN to an access token for Microsoft Graph, or `auth.token_file` to a file of \
                         yours alone that holds one";

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
    pub authority: entra::Authority,
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

impl Loader {
    pub(super) fn sign_in(&mut self) -> SignIn {
        let (text, at) = self
            .value(&key::AUTH_LOGIN_URL)
            .unwrap_or_else(|| (entra::DEFAULT_LOGIN_URL.to_owned(), Origin::Default));
        let authority = entra::Authority::parse(&text).unwrap_or_else(|error| {
            self.error(&at, format!("`auth.login_url` {}", error.problem), error.fix);
            entra::Authority::microsoft()
        });
        let key_store = match self.value(&key::AUTH_KEY_STORE) {
            None => KeyStoreKind::System,
            Some((text, _)) if text == "system" => KeyStoreKind::System,
            Some((text, _)) if text == "file" => KeyStoreKind::File,
            Some((text, at)) => {
                let fix = "write \"system\", or \"file\" to keep secrets in files with mode 0600";
                self.error(&at, format!("`auth.key_store` is {text:?}"), fix);
                KeyStoreKind::System
            }
        };
        SignIn { authority, key_store }
    }

    pub(super) fn auth(&mut self, token: Option<&String>) -> Auth {
        let token = token.map(|t| t.trim()).filter(|t| !t.is_empty());
        let mode = self.value(&key::AUTH_MODE);
        let at = mode.as_ref().map_or(Origin::Default, |(_, at)| at.clone());
        let file = self.token_file();
        match (mode.as_ref().map(|(text, _)| text.as_str()), token) {
            (None | Some("static"), None) if file.is_some() => file.map_or(Auth::None, Auth::TokenFile),
            (None, None) => Auth::None,
            (None | Some("static"), Some(token)) if token.bytes().all(|b| b.is_ascii_graphic()) => {
                Auth::Static(Secret::new(token))
            }
            (None | Some("static"), Some(_)) => {
                let at = Origin::Environment(key::ACCESS_TOKEN_VARIABLE.to_owned());
                self.error(&at, "the token holds a blank or a control character".to_owned(), "copy it again");
                Auth::None
            }
            (Some("static"), None) => {
                self.error(&at, "`auth.mode` is static, but there is no token".to_owned(), TOKEN_FIX);
                Auth::None
            }
            (Some("agent-user"), _) => self.agent_user(&at).map_or(Auth::None, Auth::AgentUser),
            (Some("device-code"), _) => {
                self.delegated(&at, LoginBy::DeviceCode).map_or(Auth::None, Auth::Delegated)
            }
            (Some("browser"), _) => self.delegated(&at, LoginBy::Browser).map_or(Auth::None, Auth::Delegated),
            (Some(other), _) => {
                // Not repeated: people put the token itself here.
                let problem =
                    format!("`auth.mode` is none that is known ({} characters)", other.chars().count());
                let close = crate::tool::nearest::nearest(other, &MODE_NAMES);
                let fix = close
                    .map_or_else(|| MODES.to_owned(), |close| format!("did you mean \"{close}\"? {MODES}"));
                self.error(&at, problem, fix);
                Auth::None
            }
        }
    }

    fn token_file(&mut self) -> Option<PathBuf> {
        let (text, at) = self.value(&key::AUTH_TOKEN_FILE)?;
        let path = PathBuf::from(text);
        if !path.is_absolute() {
            let problem = "`auth.token_file` is not an absolute path".to_owned();
            self.error(&at, problem, "write it out from the root; the host chooses the working folder");
        }
        Some(path)
    }

    fn agent_user(&mut self, at: &Origin) -> Option<AgentUser> {
        let tenant_id = self.needed(at, &key::IDENTITY_TENANT_ID, "the agent's tenant");
        let blueprint_id = self.needed(at, &key::AUTH_BLUEPRINT_ID, "the blueprint's application id");
        let agent_id = self.needed(at, &key::AUTH_AGENT_ID, "the agent identity's application id");
        let user = self.agent_user_name(at);
        let algorithm = self.algorithm();
        let thumbprint = self.thumbprint();
        let path = |key| self.value(key).map(|(text, _)| PathBuf::from(text));
        let (key_file, certificate_file) = (path(&key::AUTH_KEY_FILE), path(&key::AUTH_CERTIFICATE_FILE));
        for (key, path) in
            [(&key::AUTH_KEY_FILE, &key_file), (&key::AUTH_CERTIFICATE_FILE, &certificate_file)]
        {
            if path.as_ref().is_some_and(|path| !path.is_absolute()) {
                let at = self.value(key).map_or(Origin::Default, |(_, at)| at);
                let problem = format!("`{}` is not an absolute path", key.field());
                self.error(&at, problem, "write it out from the root; the host chooses the working folder");
            }
        }
        Some(AgentUser {
            tenant_id: tenant_id?,
            blueprint_id: blueprint_id?,
            agent_id: agent_id?,
            user: user?,
            algorithm,
            thumbprint,
            key_file,
            certificate_file,
        })
    }

    fn agent_user_name(&mut self, at: &Origin) -> Option<AgentUserName> {
        let object_id = self.value(&key::IDENTITY_OBJECT_ID).and_then(|(text, _)| Guid::parse(&text));
        if let Some(id) = object_id {
            return Some(AgentUserName::ObjectId(id));
        }
        if let Some((name, at)) = self.value(&key::IDENTITY_USER_NAME) {
            if super::load::is_mail_address(&name) {
                return Some(AgentUserName::PrincipalName(name.trim().to_owned()));
            }
            let fix = "write the agent user's principal name, such as agent@contoso.com";
            self.error(&at, format!("`identity.user_name` is {name:?}"), fix);
            return None;
        }
        if self.value(&key::IDENTITY_OBJECT_ID).is_none() {
            let problem = "`auth.mode` is agent-user, but the agent user is not named".to_owned();
            self.error(at, problem, "set `identity.object_id`, or `identity.user_name`");
        }
        None
    }

    fn algorithm(&mut self) -> Algorithm {
        match self.value(&key::AUTH_ALGORITHM) {
            None => Algorithm::Ps256,
            Some((text, _)) if text == "PS256" => Algorithm::Ps256,
            Some((text, _)) if text == "RS256" => Algorithm::Rs256,
            Some((text, at)) => {
                self.error(&at, format!("`auth.algorithm` is {text:?}"), "write \"PS256\" or \"RS256\"");
                Algorithm::Ps256
            }
        }
    }

    fn thumbprint(&mut self) -> Option<Thumbprint> {
        let (text, at) = self.value(&key::AUTH_CERTIFICATE_THUMBPRINT)?;
        let thumbprint = Thumbprint::parse(&text);
        if thumbprint.is_none() {
            let problem = format!("`auth.certificate_thumbprint` is {text:?}");
            self.error(&at, problem, "write the certificate's SHA-256 thumbprint: 64 hexadecimal digits");
        }
        thumbprint
    }

    fn delegated(&mut self, at: &Origin, how: LoginBy) -> Option<Delegated> {
        let tenant_id = self.needed(at, &key::IDENTITY_TENANT_ID, "the directory (tenant) id");
        let client_id =
            self.needed(at, &key::AUTH_CLIENT_ID, "the application (client) id of the app registration");
        let scopes = match self.value(&key::AUTH_SCOPES) {
            None if self
                .value(&key::MAIL_ENABLED)
                .is_some_and(|(text, _)| matches!(text.as_str(), "true" | "1")) =>
            {
                format!("{SCOPES_DEFAULT} {SCOPES_FOR_MAIL}")
            }
            None => SCOPES_DEFAULT.to_owned(),
            Some((text, at)) => {
                let printable = |c: char| c == ' ' || c.is_ascii_graphic();
                if text.len() > SCOPES_CHARS_MAX || !text.chars().all(printable) {
                    let fix = format!("write scopes separated by blanks, such as \"{SCOPES_DEFAULT}\"");
                    self.error(&at, "`auth.scopes` is no list of scopes".to_owned(), fix);
                }
                // Without it there is nothing to renew the sign-in with.
                let offline = text.split(' ').any(|scope| scope == "offline_access");
                if offline { text } else { format!("offline_access {text}") }
            }
        };
        Some(Delegated { tenant_id: tenant_id?, client_id: client_id?, how, scopes })
    }

    /// A GUID without which the mode can't work.
    fn needed(&mut self, at: &Origin, key: &'static Key, what: &str) -> Option<Guid> {
        if self.value(key).is_none() {
            let mode = self.value(&key::AUTH_MODE).map(|(text, _)| text).unwrap_or_default();
            let problem = format!("`auth.mode` is {mode}, but `{}` is missing", key.field());
            self.error(at, problem, format!("set it to {what}"));
            return None;
        }
        // A wrong one was told by whoever reads it first; the others are read here only.
        let told = self.value(key).is_some_and(|(_, at)| self.has_error_at(&at));
        if told { self.value(key).and_then(|(text, _)| Guid::parse(&text)) } else { self.guid(key) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thumbprints_in_every_spelling() {
        let hex = "00".repeat(31) + "fF";
        let colons = format!("{}:ff", ["00"; 31].join(":"));
        let base64 = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAP8";
        for text in [hex.as_str(), colons.as_str(), base64, &format!("{base64}=")] {
            assert_eq!(Thumbprint::parse(text).unwrap().0[31], 0xff, "{text}");
        }
        for text in ["", "00", &"0".repeat(40), &"g".repeat(64), &"é".repeat(32), &"A".repeat(44)] {
            assert_eq!(Thumbprint::parse(text), None, "{text}");
        }
    }
}
