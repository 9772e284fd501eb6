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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::support::script::{Reply, Script};
    use entraclaw_inbox::gate::Guid;

    const SECRET: &str = "the-secret-of-the-bot";

    fn tokens(script: &Arc<Script>) -> Tokens {
        let id = || Guid::parse("aaaaaaaa-0000-0000-0000-000000000001").unwrap();
        let credentials = Credentials { app_id: id(), tenant_id: id(), secret: Secret::new(SECRET) };
        Tokens::new(script.clone(), &Url::parse("https://login.microsoftonline.com/").unwrap(), credentials)
    }

    /// A login service whose tokens are numbered and live as long as it says.
    fn login(expires_in: Value) -> Arc<Script> {
        let count = AtomicU32::new(0);
        Script::new(move |_| {
            let number = count.fetch_add(1, Ordering::Relaxed) + 1;
            Reply::json(200, &json!({"access_token": format!("token-{number}"), "expires_in": expires_in}))
        })
    }

    #[rstest]
    #[case::a_number(json!(3_600), 3_300)]
    #[case::a_text(json!("3600"), 3_300)]
    #[case::longer_than_a_day(json!(1_000_000), 24 * 3_600 - 300)]
    #[tokio::test(start_paused = true)]
    async fn a_token_is_kept_until_five_minutes_before_its_end(
        #[case] expires_in: Value,
        #[case] kept_s: u64,
    ) {
        const INSTANT: Duration = Duration::from_millis(1);
        let tokens = tokens(&login(expires_in));
        let first = tokens.token(None).await.unwrap();
        tokio::time::sleep(Duration::from_secs(kept_s).saturating_sub(INSTANT)).await;
        assert_eq!(tokens.token(None).await.unwrap(), first);
        tokio::time::sleep(INSTANT).await;
        assert_eq!(tokens.token(None).await.unwrap().expose(), "token-2");
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_that_was_refused_is_replaced_once() {
        let tokens = tokens(&login(json!(3_600)));
        let first = tokens.token(None).await.unwrap();
        let second = tokens.token(Some(&first)).await.unwrap();
        assert_eq!(second.expose(), "token-2");
        assert_eq!(tokens.token(Some(&first)).await.unwrap(), second, "another caller has replaced it");
    }

    #[rstest]
    #[case::none(200, json!({}), AuthFailure::Unreachable)]
    #[case::an_empty_one(200, json!({"access_token": ""}), AuthFailure::Unreachable)]
    #[case::with_another_status(500, json!({"access_token": "token", "expires_in": 3_600}), AuthFailure::Unreachable)]
    #[case::an_error(
        200,
        json!({"error": "invalid_client", "error_description": format!("AADSTS7000215: {SECRET} is wrong\nmore")}),
        AuthFailure::Credential
    )]
    #[tokio::test(start_paused = true)]
    async fn what_is_no_token_is_an_error_without_the_secret(
        #[case] status: u16,
        #[case] body: Value,
        #[case] failure: AuthFailure,
    ) {
        let script = Script::new(move |_| Reply::json(status, &body));
        let error = tokens(&script).token(None).await.unwrap_err();
        assert_eq!(error.failure, failure);
        assert!(!error.problem.contains(SECRET) && !error.problem.contains("more"), "{}", error.problem);
    }

    #[tokio::test(start_paused = true)]
    async fn a_text_with_the_secret_or_the_token_is_known() {
        let tokens = tokens(&login(json!(3_600)));
        assert!(tokens.is_in(&format!("it is {SECRET}.")).await);
        assert!(!tokens.is_in("it is token-1.").await, "there is no such token yet");
        tokens.token(None).await.unwrap();
        assert!(tokens.is_in("it is token-1.").await);
        assert!(!tokens.is_in("it is token-2 or the-secret").await);
    }
}
