//! The few claims of an access token that describe the agent and the token's use.
//! They are read without a check of the signature, so they must never grant anything.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use jiff::Timestamp;
use serde_json::Value;

use entraclaw_inbox::gate::Guid;
use entraclaw_seams::secret::Secret;

/// How many scopes are read.
const SCOPES_MAX: usize = 100;

/// The claims of a token. Each may be missing, because access tokens are opaque to clients.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Claims {
    /// `tid`: the tenant that issued it.
    pub tenant_id: Option<Guid>,
    /// `oid`: the token's owner.
    pub object_id: Option<Guid>,
    /// `aud`: the resource that the token is for.
    pub audience: Option<String>,
    /// `exp`: when the token expires.
    pub expires_at: Option<Timestamp>,
    /// `scp`: what the token allows on behalf of a person, as far as it can be shown.
    pub scopes: Option<Vec<String>>,
    /// The token has `roles` or says `app`, so it belongs to an application.
    pub is_application: bool,
}

/// Decodes the claims, leniently.
pub fn claims(token: &Secret) -> Claims {
    let value = body(token);
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    let is_plain = |scope: &&str| !scope.is_empty() && scope.bytes().all(|b| b.is_ascii_graphic());
    let scopes = text("scp")
        .map(|scopes| scopes.split(' ').filter(is_plain).take(SCOPES_MAX).map(str::to_owned).collect());
    Claims {
        tenant_id: text("tid").and_then(Guid::parse),
        object_id: text("oid").and_then(Guid::parse),
        audience: text("aud").map(str::to_owned),
        expires_at: value.get("exp").and_then(Value::as_i64).and_then(|s| Timestamp::from_second(s).ok()),
        is_application: scopes.is_none() && (text("idtyp") == Some("app") || value.get("roles").is_some()),
        scopes,
    }
}

fn body(token: &Secret) -> Value {
    const CLAIMS_BYTES_MAX: usize = 64 * 1024;
    let read = || {
        let body = token.expose().split('.').nth(1).filter(|b| b.len() <= CLAIMS_BYTES_MAX)?;
        let bytes = URL_SAFE_NO_PAD.decode(body.trim_end_matches('=')).ok()?;
        serde_json::from_slice(&bytes).ok()
    };
    read().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn token(claims: &str) -> Secret {
        Secret::new(format!("e30.{}.x", URL_SAFE_NO_PAD.encode(claims)))
    }

    #[test]
    fn owner_and_tenant_are_read() {
        let read = claims(&token(
            r#"{"tid":"AAAAAAAA-0000-0000-0000-000000000001","oid":"bbbbbbbb-0000-0000-0000-000000000002","scp":"User.Read  Chat.Read \u001b[31m"}"#,
        ));
        assert_eq!(read.scopes.unwrap(), ["User.Read", "Chat.Read"]);
        assert_eq!(read.tenant_id.unwrap().as_str(), "aaaaaaaa-0000-0000-0000-000000000001");
        assert_eq!(read.object_id.unwrap().as_str(), "bbbbbbbb-0000-0000-0000-000000000002");
    }

    #[test]
    fn what_a_token_is_for_is_read() {
        let read = claims(&token(
            r#"{"aud":"https://graph.microsoft.com","exp":1795262400,"scp":"Chat.Read User.Read"}"#,
        ));
        assert_eq!(read.audience.as_deref(), Some("https://graph.microsoft.com"));
        assert_eq!(read.expires_at.unwrap().to_string(), "2026-11-21T12:00:00Z");
        assert!(
            read.scopes.is_some_and(|scopes| scopes == ["Chat.Read", "User.Read"]) && !read.is_application
        );
        assert!(claims(&token(r#"{"roles":["Chat.Read.All"]}"#)).is_application);
        assert_eq!(claims(&token(r#"{"exp":1e99,"scp":7,"aud":[]}"#)), Claims::default());
    }

    #[rstest]
    #[case(Secret::new("opaque"))]
    #[case(Secret::new("a.%%%.c"))]
    #[case(Secret::new(".."))]
    #[case(token("[1,2]"))]
    #[case(token(r#"{"tid":7,"oid":"Alice"}"#))]
    #[case(token("{\"tid\":"))]
    fn anything_else_says_nothing(#[case] token: Secret) {
        assert_eq!(claims(&token), Claims::default());
    }
}
