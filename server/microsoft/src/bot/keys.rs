//! Fetches the channel's public keys through its OpenID metadata, and fetches them again when they change.
//! A sender of tokens must never be able to make it ask more often than the pauses here allow.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use serde_json::Value;
use tokio::time::Instant;
use url::Url;

use crate::http::{HttpRequest, HttpTransport, Method, send_within};

/// The issuer of tokens for the channels of the Bot Framework.
pub(super) const ISSUER: &str = "https://api.botframework.com";
/// The age after which keys are fetched again when there is a token to check.
const KEYS_FRESH: Duration = Duration::from_secs(24 * 3_600);
/// The age after which keys are not used, even if no newer ones can be fetched.
const KEYS_USED_MAX: Duration = Duration::from_secs(5 * 24 * 3_600);
/// Pause between two requests when the last one was answered.
const ASK_PAUSE: Duration = Duration::from_secs(300);
/// Pause between two requests when the last one failed.
const RETRY_PAUSE: Duration = Duration::from_secs(10);
/// How long one request may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// The age after which an unfinished request is replaced by a new one.
const FLIGHT_AGE_MAX: Duration = Duration::from_secs(2 * REQUEST_TIMEOUT.as_secs());
/// The most keys that are kept; Microsoft publishes fewer than ten.
const KEYS_MAX: usize = 64;
/// The largest answer that is read, in bytes.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;

/// A published RSA key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    /// The modulus in big-endian bytes.
    pub(super) modulus: Vec<u8>,
    /// The exponent in big-endian bytes.
    pub(super) exponent: Vec<u8>,
    endorsements: Vec<String>,
}

impl Key {
    /// Whether the key may sign for a channel.
    pub(super) fn speaks_for(&self, channel_id: &str) -> bool {
        self.endorsements.iter().any(|endorsed| endorsed == channel_id)
    }
}

/// The outcome of looking for a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// The channel publishes the key.
    Published(Arc<Key>),
    /// The channel has just answered that it publishes no key with this id, or has withdrawn the key.
    Unpublished,
    /// The last answer did not contain the key, and it is too early to ask again.
    TooEarly,
}

/// The keys, with the address that they come from.
pub(super) struct Keys {
    transport: Arc<dyn HttpTransport>,
    metadata: Url,
    state: Mutex<State>,
}

/// One request that serves all waiting callers. When they have been dropped, the next caller continues it.
type Flight = Shared<BoxFuture<'static, Result<BTreeMap<String, Arc<Key>>, String>>>;

#[derive(Default)]
struct State {
    flight: Option<Flight>,
    keys: BTreeMap<String, Arc<Key>>,
    /// The ids of keys that the last answer left out and the one before it contained.
    withdrawn: BTreeSet<String>,
    fetched_at: Option<Instant>,
    asked_at: Option<Instant>,
    failure: Option<String>,
}

impl State {
    fn age(&self) -> Option<Duration> {
        self.fetched_at.map(|at| at.elapsed())
    }

    /// The key, and whether no further request is needed.
    fn find(&self, kid: &str) -> (Option<Arc<Key>>, bool) {
        let usable = self.age().is_some_and(|age| age < KEYS_USED_MAX);
        let key = self.keys.get(kid).filter(|_| usable).cloned();
        let settled = key.is_some() && self.age().is_some_and(|age| age < KEYS_FRESH);
        (key, settled)
    }

    fn may_ask(&self) -> bool {
        let pause = if self.failure.is_none() { ASK_PAUSE } else { RETRY_PAUSE };
        self.asked_at.is_none_or(|at| at.elapsed() >= pause)
    }
}

impl Keys {
    /// Builds an empty set of keys that has asked for nothing yet.
    pub(super) fn new(transport: Arc<dyn HttpTransport>, metadata: Url) -> Self {
        Self { transport, metadata, state: Mutex::default() }
    }

    /// Looks for the key with this id.
    ///
    /// # Errors
    /// A sentence when there are no usable keys, because the channel could not be asked.
    pub(super) async fn find(&self, kid: &str) -> Result<Found, String> {
        if let (Some(key), true) = self.state().find(kid) {
            return Ok(Found::Published(key));
        }
        let flight = self.flight();
        if let Some(flight) = &flight {
            let fetched = flight.clone().await;
            self.land(flight, fetched);
        }
        let state = self.state();
        let answered = flight.is_some() && state.failure.is_none();
        match state.find(kid).0 {
            Some(key) => Ok(Found::Published(key)),
            None if state.age().is_some_and(|age| age < KEYS_USED_MAX) => {
                let settled = answered || state.withdrawn.contains(kid);
                Ok(if settled { Found::Unpublished } else { Found::TooEarly })
            }
            None => Err(state.failure.clone().unwrap_or_else(|| "they were not asked for yet".to_owned())),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The running request, else a new one, else `None` because it is too early for one.
    fn flight(&self) -> Option<Flight> {
        let mut state = self.state();
        let is_young = state.asked_at.is_some_and(|at| at.elapsed() < FLIGHT_AGE_MAX);
        if let Some(flight) = state.flight.as_ref().filter(|_| is_young) {
            return Some(flight.clone());
        }
        if !state.may_ask() {
            return None;
        }
        state.asked_at = Some(Instant::now());
        state.failure = Some("they are asked for right now".to_owned());
        let flight = fetch(Arc::clone(&self.transport), self.metadata.clone()).boxed().shared();
        state.flight = Some(flight.clone());
        Some(flight)
    }

    /// Stores the answer of a request, unless another caller has done so.
    fn land(&self, flight: &Flight, fetched: Result<BTreeMap<String, Arc<Key>>, String>) {
        let mut state = self.state();
        if !state.flight.as_ref().is_some_and(|current| current.ptr_eq(flight)) {
            return;
        }
        state.flight = None;
        match fetched {
            Ok(keys) => {
                let before = std::mem::replace(&mut state.keys, keys);
                state.withdrawn = before.into_keys().filter(|kid| !state.keys.contains_key(kid)).collect();
                state.fetched_at = Some(Instant::now());
                state.failure = None;
            }
            Err(why) => {
                tracing::warn!(why, "the channel's keys could not be fetched");
                state.failure = Some(why);
            }
        }
    }
}

async fn fetch(
    transport: Arc<dyn HttpTransport>,
    metadata_url: Url,
) -> Result<BTreeMap<String, Arc<Key>>, String> {
    let metadata = get(&*transport, &metadata_url).await?;
    let text = |name: &str| metadata.get(name).and_then(Value::as_str);
    if text("issuer") != Some(ISSUER) {
        return Err("the metadata names another issuer".to_owned());
    }
    let place = text("jwks_uri").and_then(|place| Url::parse(place).ok());
    // A key from another origin can't be trusted as the channel's.
    let place = place
        .filter(|place| place.origin() == metadata_url.origin())
        .ok_or("the metadata names no place for keys on its own host")?;
    let keys = read(&get(&*transport, &place).await?);
    if keys.is_empty() { Err("no usable key is published".to_owned()) } else { Ok(keys) }
}

async fn get(transport: &dyn HttpTransport, url: &Url) -> Result<Value, String> {
    let request = HttpRequest::new(Method::Get, url.to_string(), &[("accept", "application/json")], None);
    let answer = send_within(transport, request, REQUEST_TIMEOUT).await.map_err(|error| error.to_string())?;
    if answer.status != 200 {
        return Err(format!("{} answered {}", url.path(), answer.status));
    }
    if answer.body.len() > ANSWER_BYTES_MAX {
        return Err(format!("{} answered more than {ANSWER_BYTES_MAX} bytes", url.path()));
    }
    serde_json::from_slice(&answer.body).map_err(|_| format!("{} answered no JSON", url.path()))
}

/// Reads the RSA keys for signatures in a key set; others are left out.
fn read(set: &Value) -> BTreeMap<String, Arc<Key>> {
    let keys = set.get("keys").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let key = |value: &Value| {
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        let number = |name: &str| URL_SAFE_NO_PAD.decode(text(name)?.trim_end_matches('=')).ok();
        if text("kty")? != "RSA" || text("use").is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        let endorsements = value.get("endorsements").and_then(Value::as_array);
        let endorsements =
            endorsements.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
        let key = Key { modulus: number("n")?, exponent: number("e")?, endorsements };
        Some((text("kid")?.to_owned(), Arc::new(key)))
    };
    keys.iter().take(KEYS_MAX).filter_map(key).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use serde_json::json;

    use super::*;
    use crate::support::script::{Reply, Script};

    const METADATA: &str = "https://login.botframework.com/v1/.well-known/openidconfiguration";
    const PLACE: &str = "https://login.botframework.com/v1/.well-known/keys";

    fn key(kid: &str) -> Value {
        json!({"kty": "RSA", "use": "sig", "kid": kid, "n": "AQAB", "e": "AQAB", "endorsements": ["msteams"]})
    }

    impl Found {
        fn key(self) -> Option<Arc<Key>> {
            match self {
                Self::Published(key) => Some(key),
                Self::Unpublished | Self::TooEarly => None,
            }
        }
    }

    fn keys_of(script: &Arc<Script>) -> Keys {
        Keys::new(script.clone(), Url::parse(METADATA).unwrap())
    }

    fn channel(place: &'static str, version: &Arc<AtomicU32>, up: &Arc<AtomicU32>) -> Arc<Script> {
        let (version, up) = (version.clone(), up.clone());
        Script::new(move |seen| {
            if up.load(Ordering::Relaxed) == 0 {
                return Reply::unreachable();
            }
            if seen.request.url == METADATA {
                Reply::json(200, &json!({"issuer": ISSUER, "jwks_uri": place}))
            } else {
                Reply::json(200, &json!({"keys": [key(&format!("key-{}", version.load(Ordering::Relaxed)))]}))
            }
        })
    }

    #[tokio::test(start_paused = true)]
    async fn keys_are_kept_and_a_new_one_is_found_when_the_pause_is_over() {
        let (version, up) = (Arc::new(AtomicU32::new(1)), Arc::new(AtomicU32::new(1)));
        let script = channel(PLACE, &version, &up);
        let keys = keys_of(&script);
        assert!(keys.find("key-1").await.unwrap().key().unwrap().speaks_for("msteams"));
        for n in 0..1_000 {
            assert!(keys.find("key-1").await.unwrap().key().is_some());
            assert!(keys.find(&format!("made-up-{n}")).await.unwrap().key().is_none());
        }
        assert_eq!(script.seen().len(), 2, "a flood of made-up keys asks nobody");
        version.store(2, Ordering::Relaxed);
        assert!(keys.find("key-2").await.unwrap().key().is_none());
        tokio::time::sleep(ASK_PAUSE).await;
        assert!(keys.find("key-2").await.unwrap().key().is_some());
        assert!(keys.find("key-1").await.unwrap().key().is_none(), "a key that was withdrawn is gone");
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_that_leaves_keeps_no_other_from_the_answer() {
        let script = Script::new(|seen| {
            let answer = if seen.request.url == METADATA {
                json!({"issuer": ISSUER, "jwks_uri": PLACE})
            } else {
                json!({"keys": [key("key-1")]})
            };
            Reply::json(200, &answer).after(Duration::from_millis(50))
        });
        let keys = keys_of(&script);
        for n in 0..10 {
            // The future is polled once and then dropped, as when a client closes its connection.
            assert!(keys.find(&format!("made-up-{n}")).now_or_never().is_none());
        }
        assert!(keys.find("key-1").await.unwrap().key().is_some());
        assert_eq!(script.seen().len(), 2, "one question for all of them");
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_is_unpublished_only_by_the_channels_word() {
        let (version, up) = (Arc::new(AtomicU32::new(1)), Arc::new(AtomicU32::new(1)));
        let script = channel(PLACE, &version, &up);
        let keys = keys_of(&script);
        assert_eq!(keys.find("made-up").await, Ok(Found::Unpublished), "it was asked for just now");
        assert_eq!(keys.find("key-2").await, Ok(Found::TooEarly));
        version.store(2, Ordering::Relaxed);
        tokio::time::sleep(ASK_PAUSE).await;
        assert!(keys.find("key-2").await.unwrap().key().is_some());
        assert_eq!(keys.find("key-1").await, Ok(Found::Unpublished), "withdrawn");
        up.store(0, Ordering::Relaxed);
        tokio::time::sleep(ASK_PAUSE).await;
        assert_eq!(keys.find("key-3").await, Ok(Found::TooEarly), "nobody has answered");
        assert!(keys.find("key-2").await.unwrap().key().is_some());
        assert_eq!(script.seen().len(), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn an_outage_of_four_days_is_survived_and_one_of_six_is_not() {
        let (version, up) = (Arc::new(AtomicU32::new(1)), Arc::new(AtomicU32::new(1)));
        let keys = keys_of(&channel(PLACE, &version, &up));
        keys.find("key-1").await.unwrap();
        up.store(0, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_secs(4 * 24 * 3_600)).await;
        assert!(keys.find("key-1").await.unwrap().key().is_some());
        tokio::time::sleep(Duration::from_secs(2 * 24 * 3_600)).await;
        assert!(keys.find("key-1").await.is_err());
        up.store(1, Ordering::Relaxed);
        tokio::time::sleep(RETRY_PAUSE).await;
        assert!(keys.find("key-1").await.unwrap().key().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn keys_are_asked_for_again_after_a_day_and_used_for_five() {
        const INSTANT: Duration = Duration::from_millis(1);
        let (version, up) = (Arc::new(AtomicU32::new(1)), Arc::new(AtomicU32::new(1)));
        let script = channel(PLACE, &version, &up);
        let keys = keys_of(&script);
        keys.find("key-1").await.unwrap();
        tokio::time::sleep(KEYS_FRESH.saturating_sub(INSTANT)).await;
        assert!(keys.find("key-1").await.unwrap().key().is_some());
        assert_eq!(script.seen().len(), 2);
        tokio::time::sleep(INSTANT).await;
        assert!(keys.find("key-1").await.unwrap().key().is_some());
        assert_eq!(script.seen().len(), 4);
        up.store(0, Ordering::Relaxed);
        tokio::time::sleep(KEYS_USED_MAX.saturating_sub(INSTANT)).await;
        assert!(keys.find("key-1").await.unwrap().key().is_some());
        tokio::time::sleep(INSTANT).await;
        assert!(keys.find("key-1").await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn keys_of_another_host_are_not_fetched() {
        let one = || Arc::new(AtomicU32::new(1));
        let script = channel("https://keys.contoso.com/v1/.well-known/keys", &one(), &one());
        assert!(keys_of(&script).find("key-1").await.is_err());
        assert_eq!(script.seen().len(), 1);
    }

    #[test]
    fn what_is_no_signing_key_is_left_out() {
        let set = json!({"keys": [key("a"), {"kty": "EC", "kid": "b"}, {"kty": "RSA", "kid": "c"}, 7, {
            "kty": "RSA", "use": "enc", "kid": "d", "n": "AQAB", "e": "AQAB"}]});
        assert_eq!(read(&set).keys().collect::<Vec<_>>(), ["a"]);
        assert!(read(&json!([])).is_empty());
    }
}
