//! The channel's keys and the tokens that it signs, valid ones and every kind of invalid one.
//! The private keys are made for tests and must never give access to anything.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What is wrong with an activity or its token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Forgery {
    /// There is no `Authorization` header.
    NoToken,
    /// The `Authorization` header holds no token.
    Garbage,
    /// The token is signed by a key other than the one that `kid` names.
    WrongKey,
    /// `kid` names a key that was never published.
    UnknownKey,
    /// `alg` is none and there is no signature.
    Unsigned,
    /// `alg` is HS256, with the public key as the secret.
    Symmetric,
    /// The claims were changed after signing.
    Tampered,
    /// The token is for another bot.
    WrongAudience,
    /// The token is for a bot whose id begins with the id of this bot.
    LongerAudience,
    /// The token is from another issuer.
    WrongIssuer,
    /// The token expired an hour ago.
    Expired,
    /// The token expired four minutes ago, which is within the permitted difference of clocks.
    JustExpired,
    /// The token has no expiry.
    Endless,
    /// The token becomes valid in an hour.
    NotYet,
    /// The token names a service address other than the activity's.
    OtherServiceUrl,
    /// Token and activity agree on a service address that is not Microsoft's.
    ForeignService,
    /// The token names no service address.
    NoServiceUrl,
    /// The token is signed by a published key that may not sign for the channel.
    Unendorsed,
    /// The token is signed by a published key whose list of channels is empty.
    EndorsedForNothing,
    /// The token is signed by a published key without a list of channels.
    WithoutEndorsements,
    /// The activity is from another channel, and the key may sign for that channel.
    OtherChannel,
    /// The token is valid, but the body is not an activity.
    NoActivity,
}

/// The channel signs with the first key; each change of keys moves to the other one.
const KIDS: [&str; 2] = ["bot-key-1", "bot-key-2"];
/// A key that is published for another channel.
const UNENDORSED_KID: &str = "bot-key-web";
/// A key that is published with an empty list of channels.
const FOR_NOTHING_KID: &str = "bot-key-nothing";
/// A key that is published without a list of channels.
const SILENT_KID: &str = "bot-key-silent";
/// A channel in which a client can choose its own identity.
pub(super) const OTHER_CHANNEL: &str = "webchat";
const HOUR_S: i64 = 3_600;

fn key(place: usize) -> Option<&'static RsaKeyPair> {
    static KEYS: OnceLock<[Option<RsaKeyPair>; 2]> = OnceLock::new();
    let read = |pem: &str| {
        let base64: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
        RsaKeyPair::from_pkcs8(&STANDARD.decode(base64).ok()?).ok()
    };
    let keys = KEYS.get_or_init(|| [read(include_str!("keys/one.pem")), read(include_str!("keys/two.pem"))]);
    keys.get(place % keys.len())?.as_ref()
}

/// The key set that is published after this number of changes of the key.
pub(super) fn key_set(changes: usize) -> Value {
    let entry = |place: usize, kid: &str, endorsed: Option<&[&str]>| {
        let public = key(place).map(|key| PublicKeyComponents::<Vec<u8>>::from(key.public()));
        let (n, e) = public.map(|public| (public.n, public.e)).unwrap_or_default();
        let mut entry = json!({
            "kty": "RSA", "use": "sig", "kid": kid, "x5t": kid, "n": URL_SAFE_NO_PAD.encode(n),
            "e": URL_SAFE_NO_PAD.encode(e)
        });
        if let Some(endorsed) = endorsed {
            entry["endorsements"] = json!(endorsed);
        }
        entry
    };
    json!({"keys": [
        entry(changes, KIDS[changes % KIDS.len()], Some(&[super::CHANNEL, OTHER_CHANNEL])),
        entry(changes, UNENDORSED_KID, Some(&[OTHER_CHANNEL])),
        entry(changes, FOR_NOTHING_KID, Some(&[])),
        entry(changes, SILENT_KID, None),
    ]})
}

/// The facts that a token's claims and its key are made from.
pub(super) struct Saying<'a> {
    pub(super) app_id: &'a str,
    pub(super) service_url: &'a str,
    pub(super) now_s: i64,
    pub(super) changes: usize,
}

/// The `Authorization` header of an activity.
pub(super) fn authorization(saying: &Saying<'_>, forgery: Option<Forgery>) -> Option<String> {
    match forgery {
        Some(Forgery::NoToken) => return None,
        Some(Forgery::Garbage) => return Some("Bearer not.a.token".to_owned()),
        _ => {}
    }
    let (now_s, mut place) = (saying.now_s, saying.changes);
    let mut kid = KIDS[saying.changes % KIDS.len()];
    let mut alg = "RS256";
    let mut claims = json!({
        "iss": "https://api.botframework.com",
        "aud": saying.app_id,
        "nbf": now_s - 60,
        "exp": now_s - 60 + HOUR_S,
        "serviceurl": saying.service_url,
    });
    match forgery {
        Some(Forgery::WrongKey) => place += 1,
        Some(Forgery::UnknownKey) => kid = "bot-key-of-another-bot",
        Some(Forgery::Unsigned) => alg = "none",
        Some(Forgery::Symmetric) => alg = "HS256",
        Some(Forgery::WrongAudience) => claims["aud"] = json!("00000000-0000-0000-0000-000000000000"),
        Some(Forgery::LongerAudience) => claims["aud"] = json!(format!("{}0", saying.app_id)),
        Some(Forgery::WrongIssuer) => {
            claims["iss"] = json!("https://sts.windows.net/00000000-0000-0000-0000-000000000000/");
        }
        Some(Forgery::Expired) => {
            (claims["nbf"], claims["exp"]) = (json!(now_s - 2 * HOUR_S), json!(now_s - HOUR_S));
        }
        Some(Forgery::JustExpired) => {
            (claims["nbf"], claims["exp"]) = (json!(now_s - HOUR_S), json!(now_s - 240));
        }
        Some(Forgery::Endless) => drop(claims.as_object_mut().and_then(|claims| claims.shift_remove("exp"))),
        Some(Forgery::NotYet) => {
            (claims["nbf"], claims["exp"]) = (json!(now_s + HOUR_S), json!(now_s + 2 * HOUR_S));
        }
        Some(Forgery::OtherServiceUrl) => {
            claims["serviceurl"] = json!("https://smba.trafficmanager.net/other/");
        }
        Some(Forgery::NoServiceUrl) => {
            drop(claims.as_object_mut().and_then(|claims| claims.shift_remove("serviceurl")));
        }
        Some(Forgery::Unendorsed) => kid = UNENDORSED_KID,
        Some(Forgery::EndorsedForNothing) => kid = FOR_NOTHING_KID,
        Some(Forgery::WithoutEndorsements) => kid = SILENT_KID,
        _ => {}
    }
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let header = encode(&json!({"typ": "JWT", "alg": alg, "kid": kid, "x5t": kid}));
    let signed = format!("{header}.{}", encode(&claims));
    let signature = match forgery {
        Some(Forgery::Unsigned) => Vec::new(),
        Some(Forgery::Symmetric) => hmac(&signed, place),
        _ => signature(&signed, place),
    };
    let signed = if forgery == Some(Forgery::Tampered) {
        claims["exp"] = json!(now_s + 10 * HOUR_S);
        format!("{header}.{}", encode(&claims))
    } else {
        signed
    };
    Some(format!("Bearer {signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
}

/// How many signatures are remembered. The same run is repeated many times, and making a signature takes
/// longer than all other work on it.
const REMEMBERED_MAX: usize = 4_096;

/// The signature of a text; the same text always gets the same signature.
fn signature(signed: &str, place: usize) -> Vec<u8> {
    static REMEMBERED: Mutex<BTreeMap<(usize, String), Vec<u8>>> = Mutex::new(BTreeMap::new());
    let asked = (place % KIDS.len(), signed.to_owned());
    let known = REMEMBERED.lock().unwrap_or_else(PoisonError::into_inner).get(&asked).cloned();
    known.unwrap_or_else(|| {
        let made = sign(signed, place);
        let mut remembered = REMEMBERED.lock().unwrap_or_else(PoisonError::into_inner);
        if remembered.len() >= REMEMBERED_MAX {
            remembered.clear();
        }
        remembered.insert(asked, made.clone());
        made
    })
}

fn sign(signed: &str, place: usize) -> Vec<u8> {
    let Some(key) = key(place) else { return Vec::new() };
    let mut signature = vec![0; key.public().modulus_len()];
    // An empty signature is refused like any wrong one.
    if key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature).is_err() {
        signature.clear();
    }
    signature
}

fn hmac(signed: &str, place: usize) -> Vec<u8> {
    let public = key(place).map(|key| key.public().as_ref().to_vec()).unwrap_or_default();
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &public);
    ring::hmac::sign(&key, signed.as_bytes()).as_ref().to_vec()
}
