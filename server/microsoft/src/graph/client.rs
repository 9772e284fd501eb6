//! The client for Graph: it sends a request with a token and an id, waits its turn, and tells failures apart.
//! It must never send the token anywhere but to its origin, and never repeat a POST that may have been
//! applied.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::error::{self, Failure, GraphError, Needs};
use super::pace::{Pace, Scope};
use super::{Origin, lenient, retry};
use crate::entra::{TokenSource, claims_challenge};
use crate::http::{
    BODY_BYTES_MAX, HttpRequest, HttpResponse, HttpTransport, Method, TransportError, USER_AGENT, backoff,
    http_date, one_line, retry_after, send_within,
};
use entraclaw_seams::clock::Clock;
use entraclaw_seams::random::Random;
use entraclaw_seams::secret::Secret;

/// How long a throttled POST waits at most before its caller gets the error.
const POST_WAIT_MAX: Duration = Duration::from_secs(20);
/// The hosts where SharePoint and OneDrive keep files.
const FILE_STORES: [&str; 3] = [".sharepoint.com", ".sharepoint.us", ".svc.ms"];
/// The most requests for the mailbox at a time; Graph refuses a fifth.
const MAILBOX_REQUESTS_MAX: usize = 4;
/// How many items the client asks for in a page of mail.
const MAIL_PAGE_ITEMS: u32 = 50;
/// A smaller difference to the server's clock comes from the coarse `Date` header and is no skew.
const SKEW_IGNORED: SignedDuration = SignedDuration::from_secs(2);

/// The parts of a client.
pub struct GraphParts {
    /// Sends the requests.
    pub transport: Arc<dyn HttpTransport>,
    /// Gives the tokens.
    pub tokens: Arc<dyn TokenSource>,
    /// Gives the time for `Retry-After` dates and the server's skew.
    pub clock: Arc<dyn Clock>,
    /// Gives request ids and jitter.
    pub random: Arc<dyn Random>,
    /// The only origin that gets the token.
    pub origin: Origin,
    /// How long one request may take.
    pub request_timeout: Duration,
    /// The time between two requests for one chat; [`super::CHAT_SPACING`] against the real Graph.
    pub chat_spacing: Duration,
}

/// The answer to a request for a file.
enum Found {
    Bytes(Vec<u8>),
    Elsewhere(String),
}

/// Whether an address is in one of Microsoft's file stores, whose links carry their own access right.
fn is_file_store(location: &str) -> bool {
    let Ok(url) = url::Url::parse(location) else { return false };
    let known = |host: &str| FILE_STORES.iter().any(|suffix| host.ends_with(suffix));
    url.scheme() == "https"
        && url.port().is_none()
        && url.username().is_empty()
        && url.host_str().is_some_and(known)
}

/// A client for Graph.
pub struct GraphClient {
    parts: GraphParts,
    pace: Pace,
    mailbox: Semaphore,
    skew: Mutex<SignedDuration>,
    /// The difference according to the last `Date` header, whatever its size.
    told_skew: Mutex<Option<SignedDuration>>,
    requests_total: AtomicU64,
    throttled_total: AtomicU64,
}

/// How many requests a client has sent to Graph since its start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// The number of requests sent, including repeated ones.
    pub requests_total: u64,
    /// The number of these requests that were answered with 429.
    pub throttled_total: u64,
}

impl GraphClient {
    /// A client that has sent no request yet.
    pub fn new(parts: GraphParts) -> Self {
        let pace = Pace::new(parts.chat_spacing);
        Self {
            parts,
            pace,
            mailbox: Semaphore::new(MAILBOX_REQUESTS_MAX),
            skew: Mutex::new(SignedDuration::ZERO),
            told_skew: Mutex::new(None),
            requests_total: AtomicU64::new(0),
            throttled_total: AtomicU64::new(0),
        }
    }

    /// An absolute URL of Graph's version 1.0.
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

    /// The server's time according to its `Date` headers; this machine's time before the first.
    pub fn server_now(&self) -> Timestamp {
        let skew = *self.skew.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.parts.clock.now();
        now.checked_add(skew).unwrap_or(now)
    }

    /// Converts a time of the server's clock to this machine's clock.
    pub fn on_our_clock(&self, server_time: Timestamp) -> Option<Timestamp> {
        let skew = *self.skew.lock().unwrap_or_else(PoisonError::into_inner);
        server_time.checked_sub(skew).ok()
    }

    /// A time near `about`, a fifth up or down, so that many clients do not ask in step.
    pub fn jitter(&self, about: Duration) -> Duration {
        let share = u32::try_from(self.parts.random.next_u64() % 401).unwrap_or(0);
        about * (800 + share) / 1_000
    }

    /// How far the server's clock is ahead of ours, by its last answer; `None` before the first answer.
    pub fn clock_skew(&self) -> Option<SignedDuration> {
        *self.told_skew.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of requests so far.
    pub fn usage(&self) -> Usage {
        Usage {
            requests_total: self.requests_total.load(Ordering::Relaxed),
            throttled_total: self.throttled_total.load(Ordering::Relaxed),
        }
    }

    /// The current token, so that a caller can keep it out of messages to people.
    pub async fn token(&self) -> Option<Secret> {
        self.parts.tokens.token().await.ok()
    }

    /// The `@odata.nextLink` of a page, checked to stay on our origin.
    pub fn next_link(&self, page: &Value) -> Result<Option<String>, GraphError> {
        self.link(page, "@odata.nextLink")
    }

    /// The link of this name in an answer, checked to stay on our origin.
    pub fn link(&self, page: &Value, name: &str) -> Result<Option<String>, GraphError> {
        let Some(link) = page.get(name).and_then(Value::as_str) else { return Ok(None) };
        self.own_link(link).map(Some)
    }

    /// A link that the caller kept, checked to stay on our origin.
    pub fn own_link(&self, link: &str) -> Result<String, GraphError> {
        self.parts.origin.follow(link).map_err(|foreign| {
            GraphError::new(Failure::ForeignLink, foreign.to_string(), self.parts.random.uuid())
        })
    }

    /// One GET, repeated at most once, with a fresh token. It is for callers that have their own schedule.
    pub async fn get_once(&self, url: &str, scope: Scope<'_>) -> Result<Value, GraphError> {
        self.exchange(Method::Get, url, None, scope, 0).await
    }

    /// Like [`GraphClient::get_once`], but returns nothing when the answer's body equals `last` to the byte.
    /// With an answer it returns the body's bytes, which the caller passes the next time.
    pub async fn get_news_once(
        &self,
        url: &str,
        scope: Scope<'_>,
        last: &[u8],
    ) -> Result<Option<(Value, Vec<u8>)>, GraphError> {
        let read = |client: &Self, response: &HttpResponse, id: &str, token: &Secret| {
            if (200..300).contains(&response.status) && !last.is_empty() && response.body == last {
                client.note_date(response);
                return Ok(None);
            }
            client.read(response, id, token).map(|answer| Some((answer, response.body.clone())))
        };
        self.exchange_as(Method::Get, url, None, scope, 0, read).await
    }

    /// A GET that is repeated by the retry rules until `patience` is used up.
    pub async fn get(&self, url: &str, scope: Scope<'_>, patience: Duration) -> Result<Value, GraphError> {
        let patience = patience.min(retry::RETRY_TOTAL_MAX);
        self.repeat(Method::Get, url, None, scope, patience, GraphError::is_transient).await
    }

    /// A PATCH, which is safe to repeat: it states how an item should be, not what to add.
    pub async fn patch(&self, url: &str, body: &Value, scope: Scope<'_>) -> Result<Value, GraphError> {
        self.write(Method::Patch, url, body, scope, GraphError::is_transient).await
    }

    /// The bytes behind a URL of ours. When Graph redirects to a file store, the store is asked without our
    /// token.
    pub async fn download(&self, url: &str, scope: Scope<'_>) -> Result<Vec<u8>, GraphError> {
        let found = self.exchange_as(Method::Get, url, None, scope, 0, Self::found).await?;
        let location = match found {
            Found::Bytes(bytes) => return Ok(bytes),
            Found::Elsewhere(location) => location,
        };
        let id = self.parts.random.uuid();
        if !is_file_store(&location) && self.parts.origin.follow(&location).is_err() {
            let message = "graph sent to a place that is no store of files of Microsoft".to_owned();
            return Err(GraphError::new(Failure::ForeignLink, message, id));
        }
        let request = HttpRequest::new(Method::Get, location.clone(), &[("user-agent", USER_AGENT)], None);
        let response = self.send(request, &id).await?;
        let failed = |failure, message: String| GraphError {
            status: Some(response.status),
            ..GraphError::new(failure, message, id.clone())
        };
        match response.status {
            200..300 if response.body.len() <= BODY_BYTES_MAX => Ok(response.body),
            200..300 => {
                Err(failed(Failure::Malformed, format!("the file is larger than {BODY_BYTES_MAX} bytes")))
            }
            status => Err(failed(error::failure_of(status), format!("the store of files answered {status}"))),
        }
    }

    /// A POST. It is repeated only if it was certainly not applied: it was throttled, or there was no
    /// connection.
    pub async fn post(&self, url: &str, body: &Value, scope: Scope<'_>) -> Result<Value, GraphError> {
        let again = |error: &GraphError| matches!(error.failure, Failure::Throttled | Failure::Unreachable);
        self.write(Method::Post, url, body, scope, again).await
    }

    async fn write(
        &self,
        method: Method,
        url: &str,
        body: &Value,
        scope: Scope<'_>,
        again: impl Fn(&GraphError) -> bool,
    ) -> Result<Value, GraphError> {
        let bytes = serde_json::to_vec(body).unwrap_or_default();
        self.repeat(method, url, Some(bytes), scope, POST_WAIT_MAX, again).await
    }

    /// Repeats a request until it succeeds, or another try makes no sense, or `patience` would be used up.
    async fn repeat(
        &self,
        method: Method,
        url: &str,
        body: Option<Vec<u8>>,
        scope: Scope<'_>,
        patience: Duration,
        again: impl Fn(&GraphError) -> bool,
    ) -> Result<Value, GraphError> {
        let deadline = Instant::now() + patience;
        let mut retries = 0;
        loop {
            let error = match self.exchange(method, url, body.clone(), scope, retries).await {
                Err(error) if again(&error) && retries < retry::retries_max(error.failure) => error,
                done => return done,
            };
            retries += 1;
            let delay = self.delay_after(&error, retries) + retry::spread(error.failure, &*self.parts.random);
            if Instant::now() + delay > deadline {
                return Err(error);
            }
            tracing::debug!(%error, retries, delay_ms = delay.as_millis(), "a request to graph is repeated");
            tokio::time::sleep(delay).await;
        }
    }

    /// How long to wait after a failure: the time that the server named, else the time by the rule.
    pub fn delay_after(&self, error: &GraphError, retry: u32) -> Duration {
        error.retry_after.unwrap_or_else(|| backoff(retry, &*self.parts.random))
    }

    async fn exchange(
        &self,
        method: Method,
        url: &str,
        body: Option<Vec<u8>>,
        scope: Scope<'_>,
        attempt: u32,
    ) -> Result<Value, GraphError> {
        self.exchange_as(method, url, body, scope, attempt, Self::read).await
    }

    async fn exchange_as<T>(
        &self,
        method: Method,
        url: &str,
        body: Option<Vec<u8>>,
        scope: Scope<'_>,
        attempt: u32,
        read: impl Fn(&Self, &HttpResponse, &str, &Secret) -> Result<T, GraphError>,
    ) -> Result<T, GraphError> {
        let tokens = &self.parts.tokens;
        let mut token =
            tokens.token().await.map_err(|error| GraphError::sign_in(error, self.parts.random.uuid()))?;
        let mut refreshed = false;
        loop {
            // Each try gives its turn back at its end. The semaphore is never closed, so a turn always
            // becomes free.
            let _turn = if scope == Scope::Mailbox { self.mailbox.acquire().await.ok() } else { None };
            tokio::time::sleep_until(self.pace.book(scope, Instant::now())).await;
            let id = self.parts.random.uuid();
            let mut request = request(method, url, body.clone(), &token, &id, attempt);
            request.headers.push(("prefer".to_owned(), preferences(scope)));
            let error = match self.send(request, &id).await.and_then(|r| read(self, &r, &id, &token)) {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            if error.failure == Failure::Unauthorized && !refreshed {
                refreshed = true;
                let other = match error.needs.as_deref() {
                    Some(Needs::Claims(claims)) => tokens.challenged(&token, claims).await,
                    _ => tokens.refresh(&token).await,
                };
                token = other.map_err(|error| GraphError::sign_in(error, id))?;
                continue;
            }
            if error.failure == Failure::Throttled {
                self.throttled_total.fetch_add(1, Ordering::Relaxed);
                self.pace.hold(scope, Instant::now() + self.delay_after(&error, attempt + 1));
            }
            return Err(error);
        }
    }

    async fn send(&self, request: HttpRequest, id: &str) -> Result<HttpResponse, GraphError> {
        self.requests_total.fetch_add(1, Ordering::Relaxed);
        let answer = send_within(&*self.parts.transport, request, self.parts.request_timeout).await;
        answer.map_err(|error| {
            let failure = match error {
                TransportError::Connect { .. } => Failure::Unreachable,
                TransportError::Broken { .. } => Failure::NoAnswer,
            };
            GraphError::new(failure, error.to_string(), id.to_owned())
        })
    }

    fn read(&self, response: &HttpResponse, id: &str, token: &Secret) -> Result<Value, GraphError> {
        let date = self.note_date(response);
        let request_id = response.header("request-id").map(one_line);
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
                return Ok(Value::Null);
            }
            return serde_json::from_slice(&response.body).or_else(|error| {
                if let Some(body) = lenient::read(&response.body) {
                    tracing::debug!(%id, "a piece of an answer could not be read and was mended");
                    return Ok(body);
                }
                // Only the place is kept, because the reason may repeat a part of the body.
                let place = format!("line {} column {}", error.line(), error.column());
                let length = response.body.len();
                Err(failed(Failure::Malformed, format!("{length} bytes that are not JSON at {place}")))
            });
        }
        let envelope = error::envelope(&response.body);
        let message = envelope.message.unwrap_or_else(|| "no reason given".to_owned());
        let mut error =
            failed(error::failure_of(response.status), message.replace(token.expose(), "(hidden)"));
        error.codes = envelope.codes.iter().map(|c| c.replace(token.expose(), "(hidden)")).collect();
        error.request_id = error.request_id.or(envelope.request_id);
        // A challenge may come as 403 too, and then a better token helps as well.
        if matches!(response.status, 401 | 403)
            && let Some(claims) = claims_challenge(&response.headers)
        {
            error.failure = Failure::Unauthorized;
            error.needs = Some(Box::new(Needs::Claims(claims)));
        }
        error.retry_after = response
            .header("retry-after")
            .and_then(|value| retry_after(value, date.unwrap_or_else(|| self.server_now())));
        Err(error)
    }

    /// Reads an answer that is a file or says where the file is.
    fn found(&self, response: &HttpResponse, id: &str, token: &Secret) -> Result<Found, GraphError> {
        let location =
            response.header("location").filter(|_| matches!(response.status, 301 | 302 | 307 | 308));
        if let Some(location) = location {
            return Ok(Found::Elsewhere(location.to_owned()));
        }
        if (200..300).contains(&response.status) && response.body.len() <= BODY_BYTES_MAX {
            return Ok(Found::Bytes(response.body.clone()));
        }
        let wrong = self.read(response, id, token).err();
        Err(wrong
            .unwrap_or_else(|| GraphError::new(Failure::Malformed, "no file came".to_owned(), id.to_owned())))
    }

    fn note_date(&self, response: &HttpResponse) -> Option<Timestamp> {
        let date = response.header("date").and_then(http_date)?;
        self.note_server_time(date);
        Some(date)
    }

    fn note_server_time(&self, date: Timestamp) {
        let skew = date.duration_since(self.parts.clock.now());
        *self.told_skew.lock().unwrap_or_else(PoisonError::into_inner) = Some(skew);
        let skew = if skew.abs() <= SKEW_IGNORED { SignedDuration::ZERO } else { skew };
        *self.skew.lock().unwrap_or_else(PoisonError::into_inner) = skew;
    }
}

/// The preferences, in one header. Without `include-unknown-enum-members`, Graph calls system messages
/// `unknownFutureValue`. Without `ImmutableId`, ids of mails change when the mails are moved. Every mailbox
/// request must have `ImmutableId` and the page size.
fn preferences(scope: Scope<'_>) -> String {
    match scope {
        Scope::Mailbox => format!("IdType=\"ImmutableId\", odata.maxpagesize={MAIL_PAGE_ITEMS}"),
        Scope::Chat(_) | Scope::Common => "include-unknown-enum-members".to_owned(),
    }
}

fn request(
    method: Method,
    url: &str,
    body: Option<Vec<u8>>,
    token: &Secret,
    id: &str,
    attempt: u32,
) -> HttpRequest {
    let mut headers = vec![
        ("authorization", format!("Bearer {}", token.expose())),
        ("accept", "application/json".to_owned()),
        ("client-request-id", id.to_owned()),
        ("user-agent", USER_AGENT.to_owned()),
    ];
    if body.is_some() {
        headers.push(("content-type", "application/json".to_owned()));
    }
    if attempt > 0 {
        headers.push(("retry-attempt", attempt.to_string()));
    }
    let headers = headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    HttpRequest { method, url: url.to_owned(), headers, body }
}

#[cfg(test)]
mod tests;
