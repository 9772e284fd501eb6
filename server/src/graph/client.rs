//! The client: sends a request with a token and an id, waits its turn, and tells failures apart.
//! It must never send the token anywhere but to its origin, and never repeat a POST that may have been applied.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tokio::time::Instant;

use super::error::{self, Failure, GraphError};
use super::pace::{Pace, Scope};
use super::{GraphRequest, GraphResponse, GraphTransport, Method, Origin, TransportError, retry};
use crate::clock::Clock;
use crate::config::Secret;
use crate::entra::TokenSource;
use crate::random::Random;

/// The largest body that is read.
pub const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;
/// A POST that was throttled waits no longer than this before it is given back to its caller.
const POST_WAIT_MAX: Duration = Duration::from_secs(20);
/// A difference to the server's clock below this is the coarseness of `Date`, not skew.
const SKEW_IGNORED: SignedDuration = SignedDuration::from_secs(2);

/// What a client is made of.
pub struct GraphParts {
    /// How requests get there.
    pub transport: Arc<dyn GraphTransport>,
    /// Where tokens come from.
    pub tokens: Arc<dyn TokenSource>,
    /// For `Retry-After` dates and the server's skew.
    pub clock: Arc<dyn Clock>,
    /// For request ids and jitter.
    pub random: Arc<dyn Random>,
    /// The only place that the token goes to.
    pub origin: Origin,
    /// How long one request may take.
    pub request_timeout: Duration,
    /// Time between two requests for one chat; [`super::CHAT_SPACING`] against the real Graph.
    pub chat_spacing: Duration,
}

/// A successful answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// HTTP status, 2xx.
    pub status: u16,
    /// The body; null when it was empty.
    pub body: Value,
}

/// Talks to Graph.
pub struct GraphClient {
    parts: GraphParts,
    pace: Pace,
    skew: Mutex<SignedDuration>,
    /// The difference by the last `Date` header, whatever its size.
    told_skew: Mutex<Option<SignedDuration>>,
    requests_total: AtomicU64,
    throttled_total: AtomicU64,
}

/// What a client has asked of Graph since its start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Requests sent, repeated ones too.
    pub requests_total: u64,
    /// Of those, answered with 429.
    pub throttled_total: u64,
}

impl GraphClient {
    /// A client that has not talked to anybody yet.
    pub fn new(parts: GraphParts) -> Self {
        let pace = Pace::new(parts.chat_spacing);
        Self {
            parts,
            pace,
            skew: Mutex::new(SignedDuration::ZERO),
            told_skew: Mutex::new(None),
            requests_total: AtomicU64::new(0),
            throttled_total: AtomicU64::new(0),
        }
    }

    /// An absolute URL of version 1.0.
    pub fn url(&self, segments: &[&str], query: &[(&str, &str)]) -> String {
        self.parts.origin.url(segments, query)
    }

    /// Host and port, for messages.
    pub fn authority(&self) -> String {
        self.parts.origin.authority()
    }

    /// When a request for this chat can be made; `None` means now.
    pub fn free_at(&self, chat: &str) -> Option<Instant> {
        self.pace.free_at(chat)
    }

    /// The server's time as far as its `Date` headers have told it; else ours.
    pub fn server_now(&self) -> Timestamp {
        let skew = *self.skew.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.parts.clock.now();
        now.checked_add(skew).unwrap_or(now)
    }

    /// How far the server's clock is ahead of ours, by its last answer; `None` before the first.
    pub fn clock_skew(&self) -> Option<SignedDuration> {
        *self.told_skew.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was asked so far.
    pub fn usage(&self) -> Usage {
        Usage {
            requests_total: self.requests_total.load(Ordering::Relaxed),
            throttled_total: self.throttled_total.load(Ordering::Relaxed),
        }
    }

    /// The current token, to keep it out of what is sent to people.
    pub async fn token(&self) -> Option<Secret> {
        self.parts.tokens.token().await.ok()
    }

    /// The `@odata.nextLink` of a page, checked to stay on our origin.
    pub fn next_link(&self, page: &Value) -> Result<Option<String>, GraphError> {
        let Some(link) = page.get("@odata.nextLink").and_then(Value::as_str) else { return Ok(None) };
        self.parts.origin.follow(link).map(Some).map_err(|foreign| {
            GraphError::new(Failure::ForeignLink, foreign.to_string(), self.parts.random.uuid())
        })
    }

    /// One GET, without a retry but the one after a fresh token. For callers that have a schedule of their own.
    pub async fn get_once(&self, url: &str, scope: Scope<'_>) -> Result<Answer, GraphError> {
        self.exchange(Method::Get, url, None, scope, 0).await
    }

    /// A GET that is repeated by rule until `patience` is used up.
    pub async fn get(&self, url: &str, scope: Scope<'_>, patience: Duration) -> Result<Answer, GraphError> {
        let deadline = Instant::now() + patience.min(retry::RETRY_TOTAL_MAX);
        let mut retries = 0;
        loop {
            let error = match self.exchange(Method::Get, url, None, scope, retries).await {
                Err(error) if error.is_transient() && retries < retry::RETRIES_MAX => error,
                done => return done,
            };
            retries += 1;
            let delay = self.delay_after(&error, retries);
            if Instant::now() + delay > deadline {
                return Err(error);
            }
            tracing::debug!(%error, retries, delay_ms = delay.as_millis(), "graph read is repeated");
            tokio::time::sleep(delay).await;
        }
    }

    /// A POST. Only what was certainly not applied is tried again: a throttled one, or one that found no connection.
    pub async fn post(&self, url: &str, body: &Value, scope: Scope<'_>) -> Result<Answer, GraphError> {
        let deadline = Instant::now() + POST_WAIT_MAX;
        let bytes = serde_json::to_vec(body).unwrap_or_default();
        let mut retries = 0;
        loop {
            let error = match self.exchange(Method::Post, url, Some(bytes.clone()), scope, retries).await {
                Err(error)
                    if matches!(error.failure, Failure::Throttled | Failure::Unreachable)
                        && retries < retry::RETRIES_MAX =>
                {
                    error
                }
                done => return done,
            };
            retries += 1;
            let delay = self.delay_after(&error, retries);
            if Instant::now() + delay > deadline {
                return Err(error);
            }
            tokio::time::sleep(delay).await;
        }
    }

    /// How long to wait after a failure: what the server said, else the rule.
    pub fn delay_after(&self, error: &GraphError, retry: u32) -> Duration {
        error.retry_after.unwrap_or_else(|| retry::backoff(retry, &*self.parts.random))
    }

    async fn exchange(
        &self,
        method: Method,
        url: &str,
        body: Option<Vec<u8>>,
        scope: Scope<'_>,
        attempt: u32,
    ) -> Result<Answer, GraphError> {
        let sign_in =
            |error: crate::entra::AuthError, id| GraphError::new(Failure::SignIn, error.to_string(), id);
        let mut token = self.parts.tokens.token().await.map_err(|e| sign_in(e, self.parts.random.uuid()))?;
        let mut refreshed = false;
        loop {
            tokio::time::sleep_until(self.pace.book(scope, Instant::now())).await;
            let id = self.parts.random.uuid();
            let request = request(method, url, body.clone(), &token, &id, attempt);
            let error = match self.send(request, &id).await.and_then(|r| self.read(&r, &id, &token)) {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            if error.failure == Failure::Unauthorized && !refreshed {
                refreshed = true;
                token = self.parts.tokens.refresh(&token).await.map_err(|e| sign_in(e, id))?;
                continue;
            }
            if error.failure == Failure::Throttled {
                self.throttled_total.fetch_add(1, Ordering::Relaxed);
                self.pace.hold(scope, Instant::now() + self.delay_after(&error, attempt + 1));
            }
            return Err(error);
        }
    }

    async fn send(&self, request: GraphRequest, id: &str) -> Result<GraphResponse, GraphError> {
        let limit = self.parts.request_timeout;
        self.requests_total.fetch_add(1, Ordering::Relaxed);
        match tokio::time::timeout(limit, self.parts.transport.send(request)).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error @ TransportError::Connect { .. })) => {
                Err(GraphError::new(Failure::Unreachable, error.to_string(), id.to_owned()))
            }
            Ok(Err(error @ TransportError::Broken { .. })) => {
                Err(GraphError::new(Failure::NoAnswer, error.to_string(), id.to_owned()))
            }
            Err(_) => {
                let message = format!("no answer from {} within {} ms", self.authority(), limit.as_millis());
                Err(GraphError::new(Failure::NoAnswer, message, id.to_owned()))
            }
        }
    }

    fn read(&self, response: &GraphResponse, id: &str, token: &Secret) -> Result<Answer, GraphError> {
        let date = response.header("date").and_then(retry::http_date);
        if let Some(date) = date {
            self.note_server_time(date);
        }
        let request_id = response.header("request-id").map(error::one_line);
        let failed = |failure, message: String| GraphError {
            status: Some(response.status),
            request_id: request_id.clone(),
            ..GraphError::new(failure, message, id.to_owned())
        };
        if response.body.len() > BODY_BYTES_MAX {
            return Err(failed(
                Failure::Malformed,
                format!("the body is larger than {BODY_BYTES_MAX} bytes"),
            ));
        }
        if (200..300).contains(&response.status) {
            if response.body.is_empty() {
                return Ok(Answer { status: response.status, body: Value::Null });
            }
            return match serde_json::from_slice(&response.body) {
                Ok(body) => Ok(Answer { status: response.status, body }),
                Err(error) => {
                    // Only the place: the reason may repeat a part of the body.
                    let place = format!("line {} column {}", error.line(), error.column());
                    let length = response.body.len();
                    Err(failed(Failure::Malformed, format!("{length} bytes that are not JSON at {place}")))
                }
            };
        }
        let envelope = error::envelope(&response.body);
        let message = envelope.message.unwrap_or_else(|| "no reason given".to_owned());
        let mut error =
            failed(error::failure_of(response.status), message.replace(token.expose(), "(hidden)"));
        error.codes = envelope.codes.iter().map(|c| c.replace(token.expose(), "(hidden)")).collect();
        error.request_id = error.request_id.or(envelope.request_id);
        error.retry_after = response
            .header("retry-after")
            .and_then(|value| retry::retry_after(value, date.unwrap_or_else(|| self.server_now())));
        Err(error)
    }

    fn note_server_time(&self, date: Timestamp) {
        let skew = date.duration_since(self.parts.clock.now());
        *self.told_skew.lock().unwrap_or_else(PoisonError::into_inner) = Some(skew);
        let skew = if skew.abs() <= SKEW_IGNORED { SignedDuration::ZERO } else { skew };
        *self.skew.lock().unwrap_or_else(PoisonError::into_inner) = skew;
    }
}

fn request(
    method: Method,
    url: &str,
    body: Option<Vec<u8>>,
    token: &Secret,
    id: &str,
    attempt: u32,
) -> GraphRequest {
    let mut headers = vec![
        ("authorization", format!("Bearer {}", token.expose())),
        ("accept", "application/json".to_owned()),
        // Without it, system messages are called `unknownFutureValue`.
        ("prefer", "include-unknown-enum-members".to_owned()),
        ("client-request-id", id.to_owned()),
        ("user-agent", concat!("entraclaw/", env!("CARGO_PKG_VERSION")).to_owned()),
    ];
    if body.is_some() {
        headers.push(("content-type", "application/json".to_owned()));
    }
    if attempt > 0 {
        headers.push(("retry-attempt", attempt.to_string()));
    }
    let headers = headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    GraphRequest { method, url: url.to_owned(), headers, body }
}

#[cfg(test)]
mod tests;
