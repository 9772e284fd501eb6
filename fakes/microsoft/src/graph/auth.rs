//! The accepted tokens, until when they are valid, and their scopes. Every token represents the agent.
//! It must never look inside a token, because only the issuer may read it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::moment::{self, Ms};
use super::reject::Rejection;
use super::route::Operation;
use super::rules::RuleId;
use crate::wire::Request;

/// The delegated scopes that the fake knows.
pub const ALL_SCOPES: [&str; 12] = [
    "User.Read",
    "Chat.ReadBasic",
    "Chat.Read",
    "Chat.ReadWrite",
    "Files.Read.All",
    "ChatMessage.Send",
    "ChatMember.Read",
    "ChatMember.ReadWrite",
    "Mail.Read",
    "Mail.ReadWrite",
    "Mail.Send",
    "Application.Read.All",
];

/// A token that the fake accepts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TokenSpec {
    /// The token, which can be any text.
    pub token: String,
    /// How long it is valid from the start of the world, in milliseconds; absent means for ever.
    pub expires_after_ms: Option<u64>,
    /// Its scopes; absent means the scopes of the world.
    pub scopes: Option<Vec<String>>,
}

#[derive(Debug, Clone)]
pub(super) struct Token {
    expires_ms: Option<Ms>,
    scopes: BTreeSet<String>,
    claims: Option<String>,
    /// The claims that the client asked for when it got the token.
    has: Option<Value>,
}

impl Token {
    pub(super) fn has_any(&self, wanted: &[&str]) -> bool {
        wanted.iter().any(|scope| self.scopes.contains(*scope))
    }
}

#[derive(Debug, Clone)]
pub(super) struct Auth {
    tokens: BTreeMap<String, Arc<Token>>,
    scopes: BTreeSet<String>,
    /// The claims that every token must have.
    demanded: Option<Value>,
}

impl Auth {
    pub(super) fn new() -> Self {
        let scopes = ALL_SCOPES.iter().map(|s| (*s).to_owned()).collect();
        Self { tokens: BTreeMap::new(), scopes, demanded: None }
    }

    pub(super) fn set_scopes<'a>(&mut self, scopes: impl IntoIterator<Item = &'a str>) {
        self.scopes = scopes.into_iter().map(str::to_owned).collect();
        for token in self.tokens.values_mut() {
            Arc::make_mut(token).scopes.clone_from(&self.scopes);
        }
    }

    pub(super) fn accept(&mut self, spec: &TokenSpec, started_ms: Ms) {
        let scopes =
            spec.scopes.as_ref().map_or_else(|| self.scopes.clone(), |s| s.iter().cloned().collect());
        let expires_ms = spec.expires_after_ms.map(|life| started_ms.saturating_add(moment::span(life)));
        self.tokens
            .insert(spec.token.clone(), Arc::new(Token { expires_ms, scopes, claims: None, has: None }));
    }

    /// Accepts a token of the fake Entra until `ends_ms`.
    pub(super) fn accept_issued(&mut self, token: &str, ends_ms: Ms, has: Option<Value>) {
        let scopes = self.scopes.clone();
        let token_now = Token { expires_ms: Some(ends_ms), scopes, claims: None, has };
        self.tokens.insert(token.to_owned(), Arc::new(token_now));
    }

    pub(super) fn demand(&mut self, claims: Option<Value>) {
        self.demanded = claims;
    }

    pub(super) fn revoke(&mut self, token: &str) {
        self.tokens.remove(token);
    }

    pub(super) fn revoke_all(&mut self) {
        self.tokens.clear();
    }

    pub(super) fn challenge(&mut self, token: &str, claims: &str) {
        if let Some(token) = self.tokens.get_mut(token) {
            Arc::make_mut(token).claims = Some(claims.to_owned());
        }
    }

    pub(super) fn check(&self, request: &Request, now_ms: Ms) -> Result<Arc<Token>, Rejection> {
        let bearer = request
            .header_value("authorization")
            .and_then(|value| value.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map(|(_, token)| token.trim());
        let Some(bearer) = bearer.filter(|token| !token.is_empty()) else {
            return Err(unauthorized(RuleId::TokenMissing, "access token is empty"));
        };
        let Some(token) = self.tokens.get(bearer) else {
            return Err(unauthorized(RuleId::TokenWrong, "the access token could not be validated"));
        };
        if token.expires_ms.is_some_and(|end| now_ms >= end) {
            return Err(unauthorized(
                RuleId::TokenExpired,
                "lifetime validation failed, the token is expired",
            ));
        }
        if let Some(claims) = &token.claims {
            return Err(insufficient_claims(claims));
        }
        if let Some(demanded) = self.demanded.as_ref().filter(|claims| token.has.as_ref() != Some(*claims)) {
            return Err(insufficient_claims(&demanded.to_string()));
        }
        Ok(Arc::clone(token))
    }
}

const AUTHORITY: &str = r#"Bearer realm="", authorization_uri="https://login.microsoftonline.com/common/oauth2/authorize", client_id="00000003-0000-0000-c000-000000000000""#;

fn unauthorized(rule: RuleId, message: &str) -> Rejection {
    Rejection::new(rule, 401, message).with_header("www-authenticate", AUTHORITY.to_owned())
}

/// The challenge of continuous access evaluation.
pub(super) fn insufficient_claims(claims: &str) -> Rejection {
    let challenge = format!(
        r#"{AUTHORITY}, error="insufficient_claims", claims="{}""#,
        STANDARD.encode(claims.as_bytes())
    );
    let message = "continuous access evaluation resulted in a challenge";
    Rejection::new(RuleId::ClaimsChallenge, 401, message).with_header("www-authenticate", challenge)
}

/// The scopes for an operation, of which one is enough; empty when the operation needs none.
pub(super) fn scopes_for(operation: Operation) -> &'static [&'static str] {
    match operation {
        Operation::Me => &["User.Read"],
        Operation::ListChats | Operation::GetChat => &["Chat.ReadBasic", "Chat.Read", "Chat.ReadWrite"],
        Operation::ListMessages | Operation::GetMessage | Operation::HostedContent => READ,
        Operation::SendMessage | Operation::ReplyWithQuote | Operation::React => {
            &["ChatMessage.Send", "Chat.ReadWrite"]
        }
        Operation::EditMessage | Operation::SoftDelete | Operation::MarkRead => &["Chat.ReadWrite"],
        Operation::ListMembers => {
            &["ChatMember.Read", "ChatMember.ReadWrite", "Chat.ReadBasic", "Chat.Read", "Chat.ReadWrite"]
        }
        Operation::CreateChat => &["Chat.Create", "Chat.ReadWrite"],
        Operation::ShareContent => &["Files.Read.All", "Files.ReadWrite.All"],
        Operation::ListSponsors => &["Application.Read.All"],
        Operation::AddMember => &["ChatMember.ReadWrite", "Chat.ReadWrite"],
        Operation::MailDelta | Operation::ListMail => &["Mail.ReadBasic", "Mail.Read", "Mail.ReadWrite"],
        Operation::GetMail => &["Mail.Read", "Mail.ReadWrite"],
        Operation::CreateMail | Operation::EditMail | Operation::CreateReply => &["Mail.ReadWrite"],
        Operation::ReplyMail | Operation::SendDraft => &["Mail.Send"],
        Operation::StoredFile | Operation::GetAllMessages | Operation::ChatDelta | Operation::Unknown => &[],
    }
}

/// The scopes that let a client read messages.
pub(super) const READ: &[&str] = &["Chat.Read", "Chat.ReadWrite"];
