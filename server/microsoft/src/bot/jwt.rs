//! Parses the token that the channel sends with every activity, and checks it claim by claim.
//! It must never believe a claim before the signature is verified, and must never let a check be switched
//! off.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents};
use serde_json::Value;

use super::keys::{ISSUER, Key};

/// The only algorithm that is accepted.
const ALGORITHM: &str = "RS256";
/// How much the channel's clock and ours may differ, in seconds.
pub(super) const SKEW_S: i64 = 300;
/// The longest token in bytes; real ones have under 2 kB.
const TOKEN_BYTES_MAX: usize = 16 * 1024;

/// Why an activity is not believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    /// The request has no bearer token.
    NoToken,
    /// The token is not three parts of base64 with JSON in them.
    Malformed,
    /// The token has another algorithm, or a header that demands an unknown feature.
    Algorithm,
    /// The token names a key that the channel does not publish.
    UnknownKey,
    /// The signature is wrong.
    Signature,
    /// Another issuer issued the token.
    Issuer,
    /// The token is for another application.
    Audience,
    /// The token is too old, or has no end.
    Expired,
    /// The token is not valid yet.
    NotYet,
    /// The channel is not Teams, or the key may not sign for it.
    Channel,
    /// The token is for another service address than the activity's.
    ServiceUrl,
    /// The service address is not Microsoft's.
    ForeignService,
}

impl Fault {
    /// The reason as the interaction log writes it.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::NoToken => "no bearer token",
            Self::Malformed => "the token is malformed",
            Self::Algorithm => "the token is not signed by RS256",
            Self::UnknownKey => "the token names a key that is not published",
            Self::Signature => "the token's signature is wrong",
            Self::Issuer => "the token has another issuer",
            Self::Audience => "the token is for another bot",
            Self::Expired => "the token has expired",
            Self::NotYet => "the token is not valid yet",
            Self::Channel => "the key may not speak for this channel",
            Self::ServiceUrl => "the token is for another service address",
            Self::ForeignService => "the service address is not Microsoft's",
        }
    }

    /// The HTTP status for the fault: a client without a token is asked for one, every other one is refused.
    pub(super) fn status(self) -> u16 {
        if self == Self::NoToken { 401 } else { 403 }
    }
}

/// A parsed token that is not yet believed.
#[derive(Debug)]
pub(super) struct Token<'a> {
    signed: &'a str,
    signature: Vec<u8>,
    claims: Value,
    /// The id of the key that is said to have signed the token.
    pub(super) kid: String,
}

/// A token whose signature, issuer, audience and times are right.
#[derive(Debug)]
pub(super) struct Believed {
    service_url: Option<String>,
}

/// Takes the token from an `Authorization` header.
pub(super) fn bearer(header: Option<&str>) -> Result<&str, Fault> {
    let (scheme, token) = header.and_then(|h| h.trim().split_once(' ')).ok_or(Fault::NoToken)?;
    if !scheme.eq_ignore_ascii_case("bearer") || token.trim().is_empty() {
        return Err(Fault::NoToken);
    }
    Ok(token.trim())
}

impl<'a> Token<'a> {
    /// Parses a token without believing it.
    pub(super) fn parse(text: &'a str) -> Result<Self, Fault> {
        if text.len() > TOKEN_BYTES_MAX {
            return Err(Fault::Malformed);
        }
        let (signed, signature) = text.rsplit_once('.').ok_or(Fault::Malformed)?;
        let (header, claims) = signed.split_once('.').ok_or(Fault::Malformed)?;
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| Fault::Malformed);
        let json = |part: &str| -> Result<Value, Fault> {
            let value: Value = serde_json::from_slice(&decode(part)?).map_err(|_| Fault::Malformed)?;
            if value.is_object() { Ok(value) } else { Err(Fault::Malformed) }
        };
        let (header, claims) = (json(header)?, json(claims)?);
        // A `crit` list demands features that this code does not have.
        if header.get("alg").and_then(Value::as_str) != Some(ALGORITHM) || header.get("crit").is_some() {
            return Err(Fault::Algorithm);
        }
        let kid = header.get("kid").and_then(Value::as_str).ok_or(Fault::UnknownKey)?.to_owned();
        Ok(Self { signed, signature: decode(signature)?, claims, kid })
    }

    /// Verifies signature, issuer, audience and times, in this order.
    pub(super) fn verify(self, key: &Key, app_id: &str, now: Timestamp) -> Result<Believed, Fault> {
        let public = RsaPublicKeyComponents { n: &key.modulus, e: &key.exponent };
        public
            .verify(&RSA_PKCS1_2048_8192_SHA256, self.signed.as_bytes(), &self.signature)
            .map_err(|_| Fault::Signature)?;
        let text = |name: &str| self.claims.get(name).and_then(Value::as_str);
        if text("iss") != Some(ISSUER) {
            return Err(Fault::Issuer);
        }
        if !text("aud").is_some_and(|aud| aud.eq_ignore_ascii_case(app_id)) {
            return Err(Fault::Audience);
        }
        let now_s = now.as_second();
        let expires_s = seconds(self.claims.get("exp")).ok_or(Fault::Expired)?;
        if now_s >= expires_s.saturating_add(SKEW_S) {
            return Err(Fault::Expired);
        }
        match self.claims.get("nbf").map(|nbf| seconds(Some(nbf))) {
            Some(None) => return Err(Fault::NotYet),
            Some(Some(from_s)) if now_s < from_s.saturating_sub(SKEW_S) => return Err(Fault::NotYet),
            _ => {}
        }
        let service_url = text("serviceurl").or_else(|| text("serviceUrl")).map(str::to_owned);
        Ok(Believed { service_url })
    }
}

impl Believed {
    /// Whether the token is for this service address. A token that names no address is for none.
    pub(super) fn is_for(&self, service_url: &str) -> bool {
        self.service_url.as_deref() == Some(service_url)
    }
}

fn seconds(value: Option<&Value>) -> Option<i64> {
    let value = value?;
    // Some issuers write times with fractions.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a float cast saturates, which is as far as a date goes"
    )]
    value.as_i64().or_else(|| value.as_f64().map(|float| float as i64))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn token(header: &Value, claims: &str) -> String {
        let part = |text: String| URL_SAFE_NO_PAD.encode(text);
        format!("{}.{}.AAAA", part(header.to_string()), part(claims.to_owned()))
    }

    #[rstest]
    #[case(json!({"alg": "none", "kid": "a"}), "{}", Fault::Algorithm)]
    #[case(json!({"alg": "HS256", "kid": "a"}), "{}", Fault::Algorithm)]
    #[case(json!({"alg": "RS512", "kid": "a"}), "{}", Fault::Algorithm)]
    #[case(json!({"alg": ["RS256"], "kid": "a"}), "{}", Fault::Algorithm)]
    #[case(json!({"alg": "RS256", "kid": "a", "crit": ["b64"]}), "{}", Fault::Algorithm)]
    #[case(json!({"alg": "RS256"}), "{}", Fault::UnknownKey)]
    #[case(json!({"alg": "RS256", "kid": "a"}), "[]", Fault::Malformed)]
    #[case(json!({"alg": "RS256", "kid": "a"}), "{", Fault::Malformed)]
    fn headers_and_claims_of_another_kind(#[case] header: Value, #[case] claims: &str, #[case] fault: Fault) {
        assert_eq!(Token::parse(&token(&header, claims)).unwrap_err(), fault);
    }

    #[rstest]
    #[case(None, None)]
    #[case(Some("Basic abc"), None)]
    #[case(Some("Bearer"), None)]
    #[case(Some("Bearer  "), None)]
    #[case(Some("bearer a.b.c"), Some("a.b.c"))]
    fn only_a_bearer_token_is_one(#[case] header: Option<&str>, #[case] expected: Option<&str>) {
        assert_eq!(bearer(header).ok(), expected);
    }

    #[test]
    fn a_token_is_for_the_service_address_that_it_names_and_for_no_other() {
        let believed = |url: Option<&str>| Believed { service_url: url.map(str::to_owned) };
        let address = "https://smba.trafficmanager.net/emea/";
        assert!(believed(Some(address)).is_for(address));
        assert!(!believed(Some(address)).is_for("https://smba.trafficmanager.net/amer/"));
        assert!(!believed(None).is_for(address) && !believed(None).is_for(""));
    }

    #[rstest]
    #[case(json!(1_770_000_000), Some(1_770_000_000))]
    #[case(json!(1_770_000_000.9), Some(1_770_000_000))]
    #[case(json!("1770000000"), None)]
    #[case(json!(null), None)]
    fn a_time_is_a_number_of_seconds(#[case] claim: Value, #[case] time: Option<i64>) {
        assert_eq!(seconds(Some(&claim)), time);
        assert_eq!(seconds(None), None);
    }

    #[test]
    fn only_a_client_without_a_token_is_asked_for_one() {
        assert_eq!(Fault::NoToken.status(), 401);
        let others = [Fault::Malformed, Fault::Signature, Fault::Audience, Fault::Expired, Fault::Channel];
        assert!(others.iter().all(|fault| fault.status() == 403));
    }

    #[rstest]
    #[case::the_longest(TOKEN_BYTES_MAX, true)]
    #[case::one_more(TOKEN_BYTES_MAX + 1, false)]
    fn a_token_has_a_longest_length(#[case] length: usize, #[case] can_be: bool) {
        // Not every number of letters is base64, so the rest of it takes a few lengths.
        let of_length = |kid: usize| {
            let short = token(&json!({"alg": "RS256", "kid": "a".repeat(kid)}), "{}");
            format!("{short}{}", "A".repeat(length - short.len()))
        };
        let tokens: Vec<String> = (1..=4).map(of_length).collect();
        assert!(tokens.iter().all(|text| text.len() == length));
        assert_eq!(tokens.iter().any(|text| Token::parse(text).is_ok()), can_be);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text: String) {
            let _ = Token::parse(&text);
        }

        #[test]
        fn no_claims_make_it_panic(header: Vec<u8>, claims: Vec<u8>) {
            let text = format!("{}.{}.AA", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
            let _ = Token::parse(&text);
        }
    }
}
