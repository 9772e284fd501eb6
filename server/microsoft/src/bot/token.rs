//! Gets the token for answers by the bot's credentials, and keeps it in memory until shortly before its end.
//! It must never put secret or token into a log, an error or a file, nor send the secret to any host but the
//! login service.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::Instant;
use url::Url;

use super::Credentials;
use crate::entra::{AuthError, AuthFailure, form};
use crate::http::{HttpRequest, HttpTransport, Method, one_line, send_within};
use entraclaw_seams::secret::Secret;

/// The scope of the token.
const SCOPE: &str = "https://api.botframework.com/.default";
/// How long one request may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(15);
/// How long before its end a token is renewed.
const EARLY: Duration = Duration::from_secs(300);
/// The longest lifetime of a token that is believed, also used where none is stated.
const LIFE_MAX: Duration = Duration::from_secs(24 * 3_600);
const FIX: &str =
    "check `bot.app_id`, `bot.tenant_id` and ENTRACLAW_BOT_APP_PASSWORD, and start the server again";

/// Gets tokens and keeps the last one.
pub(super) struct Tokens {
    transport: Arc<dyn HttpTransport>,
    url: String,
    credentials: Credentials,
    kept: Mutex<Option<(Secret, Instant)>>,
}

impl Tokens {
    /// `login` is the root address of the login service.
    pub(super) fn new(transport: Arc<dyn HttpTransport>, login: &Url, credentials: Credentials) -> Self {
        let mut url = login.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend([credentials.tenant_id.as_str(), "oauth2", "v2.0", "token"]);
        }
        Self { transport, url: url.into(), credentials, kept: Mutex::default() }
    }

    /// Gets a token other than `refused`, which the connector answered with 401.
    pub(super) async fn token(&self, refused: Option<&Secret>) -> Result<Secret, AuthError> {
        // The lock is held during the request, so that one request serves all waiting callers.
        let mut kept = self.kept.lock().await;
        if let Some((token, until)) = &*kept
            && Instant::now() < *until
            && refused != Some(token)
        {
            return Ok(token.clone());
        }
        *kept = None;
        let (token, life) = self.ask().await?;
        *kept = Some((token.clone(), Instant::now() + life));
        Ok(token)
    }

    /// Whether a text holds the secret or the current token.
    pub(super) async fn is_in(&self, text: &str) -> bool {
        text.contains(self.credentials.secret.expose())
            || self.kept.lock().await.as_ref().is_some_and(|(token, _)| text.contains(token.expose()))
    }

    async fn ask(&self) -> Result<(Secret, Duration), AuthError> {
        let form = form(&[
            ("grant_type", "client_credentials"),
            ("client_id", self.credentials.app_id.as_str()),
            ("client_secret", self.credentials.secret.expose()),
            ("scope", SCOPE),
        ]);
        let headers = [("content-type", "application/x-www-form-urlencoded"), ("accept", "application/json")];
        let body = form.expose().as_bytes().to_vec();
        let request = HttpRequest::new(Method::Post, self.url.clone(), &headers, Some(body));
        let failed = |failure: AuthFailure, why: String, fix: &str| {
            AuthError::new(failure, format!("the bot could not sign in: {why}"), fix)
        };
        let unreachable =
            |why: String| failed(AuthFailure::Unreachable, why, "check the network; try again in a minute");
        let answer = send_within(&*self.transport, request, REQUEST_TIMEOUT).await;
        let answer = answer.map_err(|error| unreachable(error.to_string()))?;
        let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        // The body decides, not the status.
        if let Some(error) = body.get("error").and_then(Value::as_str) {
            let reason = body.get("error_description").and_then(Value::as_str).unwrap_or(error);
            let reason = reason.lines().next().unwrap_or_default();
            let reason = one_line(&reason.replace(self.credentials.secret.expose(), "(hidden)"));
            return Err(failed(AuthFailure::Credential, reason, FIX));
        }
        let token = body.get("access_token").and_then(Value::as_str).filter(|token| !token.is_empty());
        let Some(token) = token.filter(|_| answer.status == 200) else {
            return Err(unreachable(format!("the login service answered {}", answer.status)));
        };
        let stated =
            body.get("expires_in").and_then(|life| life.as_u64().or_else(|| life.as_str()?.parse().ok()));
        let life = stated.map_or(Duration::ZERO, Duration::from_secs).min(LIFE_MAX);
        Ok((Secret::new(token), life.saturating_sub(EARLY)))
    }
}
