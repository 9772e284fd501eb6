//! `[auth]`: the way to sign in, and the names that it needs.
//! A token or key must never be a value here, only the place where it is.

use entraclaw_inbox::gate::Guid;
use entraclaw_microsoft::entra::{
    AgentUser, AgentUserName, Algorithm, Auth, Authority, Delegated, KeyStoreKind, LoginBy, SignIn,
    Thumbprint,
};
use entraclaw_seams::secret::Secret;

use super::error::Origin;
use super::key::{self, Key};
use super::load::{Loader, meant};

/// The scopes that an account's own sign-in asks for.
const SCOPES_DEFAULT: &str = "offline_access User.Read Chat.Read ChatMessage.Send";
/// The scopes that it also asks for if mail is switched on.
const SCOPES_FOR_MAIL: &str = "Mail.ReadWrite Mail.Send";
const SCOPES_CHARS_MAX: usize = 1_000;
const MODE_NAMES: [&str; 4] = ["agent-user", "device-code", "browser", "static"];
const MODES: &str = "write \"agent-user\", \"device-code\", \"browser\" or \"static\"";
const TOKEN_FIX: &str = "set ENTRACLAW_ACCESS_TOKEN to an access token for Microsoft Graph, or `auth.token_file` to a file of \
                         yours alone that holds one";

impl Loader {
    pub(super) fn sign_in(&mut self) -> SignIn {
        let authority = self.root(&key::AUTH_LOGIN_URL, Authority::parse);
        let authority = authority.unwrap_or_else(Authority::microsoft);
        let fix = "write \"system\", or \"file\" to keep secrets in files with mode 0600";
        let key_store = match self.word(&key::AUTH_KEY_STORE, fix) {
            "file" => KeyStoreKind::File,
            _ => KeyStoreKind::System,
        };
        SignIn { authority, key_store }
    }

    pub(super) fn auth(&mut self, token: Option<&String>) -> Auth {
        let token = token.map(|t| t.trim()).filter(|t| !t.is_empty());
        let mode = self.value(&key::AUTH_MODE);
        let at = mode.as_ref().map_or(Origin::Default, |(_, at)| at.clone());
        let file = self.absolute_path(&key::AUTH_TOKEN_FILE);
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
                // The value is not shown, as people put the token itself here.
                let problem =
                    format!("`auth.mode` is none that is known ({} characters)", other.chars().count());
                self.error(&at, problem, format!("{}{MODES}", meant(other, &MODE_NAMES)));
                Auth::None
            }
        }
    }

    fn agent_user(&mut self, at: &Origin) -> Option<AgentUser> {
        let tenant_id = self.needed(at, &key::IDENTITY_TENANT_ID, "the agent's tenant");
        let blueprint_id = self.needed(at, &key::AUTH_BLUEPRINT_ID, "the blueprint's application id");
        let agent_id = self.needed(at, &key::AUTH_AGENT_ID, "the agent identity's application id");
        let user = self.agent_user_name(at);
        let algorithm = match self.word(&key::AUTH_ALGORITHM, "write \"PS256\" or \"RS256\"") {
            "RS256" => Algorithm::Rs256,
            _ => Algorithm::Ps256,
        };
        let thumbprint = self.thumbprint();
        let key_file = self.absolute_path(&key::AUTH_KEY_FILE);
        let certificate_file = self.absolute_path(&key::AUTH_CERTIFICATE_FILE);
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

    fn thumbprint(&mut self) -> Option<Thumbprint> {
        let fix = "write the certificate's SHA-256 thumbprint: 64 hexadecimal digits";
        self.parsed(&key::AUTH_CERTIFICATE_THUMBPRINT, "", fix, Thumbprint::parse)
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
                // Without it the sign-in can't be renewed.
                let offline = text.split(' ').any(|scope| scope == "offline_access");
                if offline { text } else { format!("offline_access {text}") }
            }
        };
        Some(Delegated { tenant_id: tenant_id?, client_id: client_id?, how, scopes })
    }

    /// Reads a GUID that the mode requires.
    fn needed(&mut self, at: &Origin, key: &'static Key, what: &str) -> Option<Guid> {
        if self.value(key).is_none() {
            let mode = self.value(&key::AUTH_MODE).map(|(text, _)| text).unwrap_or_default();
            let problem = format!("`auth.mode` is {mode}, but `{}` is missing", key.field());
            self.error(at, problem, format!("set it to {what}"));
            return None;
        }
        // A wrong value is reported by the code that reads it first; the others are read here only.
        let told = self.value(key).is_some_and(|(_, at)| self.has_error_at(&at));
        if told { self.value(key).and_then(|(text, _)| Guid::parse(&text)) } else { self.guid(key) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thumbprints_are_read_in_every_spelling() {
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
