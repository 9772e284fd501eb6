//! Signs in with a person at the terminal, by device code or by a browser with PKCE, and tries the three
//! hops.
//! It must never be called while serving, and must keep nothing but the refresh token.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::time::Instant;
use url::Url;

use super::assertion::{challenge_of, unguessable};
use super::authority::form;
use super::claims::{Claims, claims};
use super::exchange::{EntraParts, Exchange};
use super::grant::Grant;
use super::hops::Hops;
use super::keys::KeyStore;
use super::refusal::{Step, refusal};
use super::renewing::Flow as _;
use super::{AuthError, AuthFailure};
use crate::entra::{AgentUser, Delegated};
use crate::http::one_line;
use entraclaw_seams::secret::Secret;

const DEVICE: Step = Step("the request for a device code");
const DEVICE_POLL: Step = Step("the device code");
const CODE: Step = Step("the browser's code");
/// How long a person may take in the browser.
const BROWSER_MAX: Duration = Duration::from_secs(600);
/// The polling interval when Entra names none.
const INTERVAL_DEFAULT_S: u64 = 5;
const INTERVAL_S_MAX: u64 = 60;
/// The longest lifetime of a device code that is accepted.
const DEVICE_LIFE_S_MAX: u64 = 3_600;

/// The account that has signed in, as the token describes it, for people to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedIn {
    /// The claims of the token.
    pub claims: Claims,
    /// The lifetime of the access token.
    pub life: Duration,
}

impl SignedIn {
    fn of(grant: &Grant) -> Self {
        Self { claims: claims(&grant.access_token), life: grant.life }
    }
}

/// The instructions for the person who signs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DevicePrompt {
    /// The page to open.
    pub url: String,
    /// The code to type there.
    pub code: String,
    /// How long the code is valid.
    pub life: Duration,
}

/// Tries the three hops and keeps nothing.
pub async fn check_agent_user(
    parts: EntraParts,
    keys: Arc<dyn KeyStore>,
    who: &AgentUser,
    resource: &str,
) -> Result<SignedIn, AuthError> {
    let exchange = Exchange::new(parts, who.tenant_id.clone());
    let hops = Arc::new(Hops { exchange, keys, who: who.clone(), scope: format!("{resource}/.default") });
    Ok(SignedIn::of(&hops.sign_in(None).await?))
}

/// A sign-in by device code that has begun.
pub struct DeviceLogin {
    exchange: Exchange,
    keys: Arc<dyn KeyStore>,
    who: Delegated,
    device_code: Secret,
    interval: Duration,
    ends_at: Instant,
    /// The instructions for the person.
    pub prompt: DevicePrompt,
}

impl DeviceLogin {
    /// Asks for a code.
    pub async fn begin(
        parts: EntraParts,
        keys: Arc<dyn KeyStore>,
        who: &Delegated,
    ) -> Result<Self, AuthError> {
        let exchange = Exchange::new(parts, who.tenant_id.clone());
        let fields = [("client_id", who.client_id.as_str()), ("scope", who.scopes.as_str())];
        let answer = exchange.ask(DEVICE, "devicecode", &fields).await?;
        let text = |name: &str| answer.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let url = text("verification_uri")
            .filter(|url| Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "https" | "http")));
        let (Some(device_code), Some(code), Some(url)) = (text("device_code"), text("user_code"), url) else {
            let fix = "see whether a proxy changes answers, and try again";
            return Err(AuthError::new(AuthFailure::Malformed, "entra gave no device code", fix));
        };
        let number = |name: &str, default: u64| answer.get(name).and_then(Value::as_u64).unwrap_or(default);
        let life = Duration::from_secs(number("expires_in", 900).min(DEVICE_LIFE_S_MAX));
        let interval = number("interval", INTERVAL_DEFAULT_S).clamp(1, INTERVAL_S_MAX);
        Ok(Self {
            device_code: Secret::new(device_code),
            interval: Duration::from_secs(interval),
            ends_at: Instant::now() + life,
            prompt: DevicePrompt { url: one_line(url), code: one_line(code), life },
            keys,
            who: who.clone(),
            exchange,
        })
    }

    /// Waits until the person has signed in, and keeps the refresh token.
    pub async fn finish(mut self) -> Result<SignedIn, AuthError> {
        let form = form(&[
            ("client_id", self.who.client_id.as_str()),
            ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
            ("device_code", self.device_code.expose()),
        ]);
        loop {
            tokio::time::sleep(self.interval).await;
            let error = match self.exchange.ask_once(DEVICE_POLL, "token", &form).await {
                Ok(body) => return keep(&*self.keys, &self.who, &Grant::read(DEVICE_POLL, &body)?).await,
                Err(error) => error,
            };
            if error.says("slow_down") {
                // RFC 8628 §3.5: five seconds more, for all later requests.
                self.interval += Duration::from_secs(5);
            } else if !error.says("authorization_pending") && !error.is_transient() {
                return Err(error);
            }
            if Instant::now() >= self.ends_at {
                let problem = "nobody has entered the code in time";
                return Err(AuthError::new(AuthFailure::NotSignedIn, problem, "run `entraclaw login` again"));
            }
        }
    }
}

/// Judges the query of a request to our loopback address: the end of this sign-in is its code, or the reason why there
/// is none; `None` is a request that is not part of this sign-in, and the wait goes on.
pub type Judge<'a> = &'a (dyn Fn(&str) -> Option<Result<Secret, AuthError>> + Sync);

/// A listener on loopback to which the browser returns, for one sign-in.
pub trait Redirects: Send {
    /// `http://localhost:PORT`.
    fn uri(&self) -> String;
    /// Waits for requests and has their queries judged until one belongs to this sign-in.
    fn wait<'a>(&'a mut self, judge: Judge<'a>) -> BoxFuture<'a, Result<Secret, AuthError>>;
}

/// A sign-in by browser that has begun.
pub struct BrowserLogin {
    exchange: Exchange,
    keys: Arc<dyn KeyStore>,
    who: Delegated,
    redirect_uri: String,
    state: Secret,
    verifier: Secret,
    /// The URL that the browser must open.
    pub url: String,
}

impl BrowserLogin {
    /// Makes the secrets of this sign-in and the address for the browser.
    pub fn begin(
        parts: EntraParts,
        keys: Arc<dyn KeyStore>,
        who: &Delegated,
        redirect_uri: &str,
    ) -> Result<Self, AuthError> {
        let exchange = Exchange::new(parts, who.tenant_id.clone());
        let (state, verifier) = (unguessable()?, unguessable()?);
        let query = form(&[
            ("client_id", who.client_id.as_str()),
            ("response_type", "code"),
            ("redirect_uri", redirect_uri),
            ("response_mode", "query"),
            ("scope", who.scopes.as_str()),
            ("state", state.expose()),
            ("code_challenge", &challenge_of(&verifier)),
            ("code_challenge_method", "S256"),
            ("prompt", "select_account"),
        ]);
        let url = format!("{}?{}", exchange.endpoint("authorize"), query.expose());
        let redirect_uri = redirect_uri.to_owned();
        Ok(Self { exchange, keys, who: who.clone(), redirect_uri, state, verifier, url })
    }

    /// Waits for the browser, exchanges its code for tokens, and keeps the refresh token.
    pub async fn finish(self, redirects: &mut dyn Redirects) -> Result<SignedIn, AuthError> {
        let judge = |query: &str| judge(query, &self.state);
        let waited = tokio::time::timeout(BROWSER_MAX, redirects.wait(&judge)).await;
        let code = waited.unwrap_or_else(|_| {
            let problem =
                format!("the browser has not come back within {} minutes", BROWSER_MAX.as_secs() / 60);
            Err(AuthError::new(AuthFailure::NotSignedIn, problem, "run `entraclaw login` again"))
        })?;
        let form = form(&[
            ("client_id", self.who.client_id.as_str()),
            ("grant_type", "authorization_code"),
            ("code", code.expose()),
            ("redirect_uri", &self.redirect_uri),
            ("code_verifier", self.verifier.expose()),
            ("scope", self.who.scopes.as_str()),
        ]);
        // A code can be used only once, so it is not sent twice.
        let body = self.exchange.ask_once(CODE, "token", &form).await?;
        keep(&*self.keys, &self.who, &Grant::read(CODE, &body)?).await
    }
}

/// Judges a query: only a query with our `state` is for us; another may come from a page that guesses ports.
fn judge(query: &str, state: &Secret) -> Option<Result<Secret, AuthError>> {
    let pairs: Vec<_> = url::form_urlencoded::parse(query.as_bytes()).collect();
    let of = |name: &str| pairs.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_ref());
    if of("state") != Some(state.expose()) {
        return None;
    }
    if let Some(word) = of("error") {
        let body = serde_json::json!({"error": word, "error_description": of("error_description")});
        return refusal(Step("the sign-in in the browser"), 400, &body).map(Err);
    }
    of("code").filter(|code| !code.is_empty()).map(|code| Ok(Secret::new(code)))
}

async fn keep(keys: &dyn KeyStore, who: &Delegated, grant: &Grant) -> Result<SignedIn, AuthError> {
    let Some(refresh_token) = &grant.refresh_token else {
        return Err(AuthError::new(
            AuthFailure::Setup,
            "entra gave no refresh token, so the sign-in would end within the hour",
            "add offline_access to `auth.scopes`",
        ));
    };
    keys.put(&who.key_name(), refresh_token).await?;
    Ok(SignedIn::of(grant))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("code=abc&state=right", Some(true))]
    #[case("state=right&code=a%20b&session_state=x", Some(true))]
    #[case("error=access_denied&error_description=AADSTS65004%3A+no&state=right", Some(false))]
    #[case("code=abc&error=x&state=right", Some(false))]
    #[case("code=abc&state=wrong", None)]
    #[case("code=abc", None)]
    #[case("state=right", None)]
    #[case("code=&state=right", None)]
    #[case("%ff=%", None)]
    #[case("", None)]
    fn only_our_state_ends_the_wait(#[case] query: &str, #[case] good: Option<bool>) {
        let verdict = judge(query, &Secret::new("right")).map(|outcome| outcome.is_ok());
        assert_eq!(verdict, good);
    }
}
