//! Sends requests to the token endpoint: one form, one JSON answer, repeated only while the server has a
//! problem.
//! It must never log a form or a body, nor trust this machine's clock more than the server's.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::authority::{Authority, form};
use super::refusal::{Step, refusal};
use super::{AuthError, AuthFailure};
use crate::http::{
    HttpRequest, HttpResponse, HttpTransport, Method, USER_AGENT, backoff, http_date, retry_after,
    send_within,
};
use entraclaw_inbox::gate::Guid;
use entraclaw_seams::clock::Clock;
use entraclaw_seams::random::Random;
use entraclaw_seams::secret::Secret;

/// The tries of one step after the first one, when no person waits at a terminal.
pub const SIGN_IN_RETRIES_MAX: u32 = 3;
/// The most that the delays of one step may add up to; after that the caller makes its own pause.
const RETRY_TOTAL_MAX: Duration = Duration::from_secs(45);
/// The largest answer that is read.
const ANSWER_BYTES_MAX: usize = 256 * 1024;
/// A smaller difference to the server's clock comes from the coarse `Date` header and is no skew.
const SKEW_IGNORED: SignedDuration = SignedDuration::from_secs(2);
/// Entra accepts a skew of less than five minutes; a skew larger than this is logged.
const SKEW_NOTED: SignedDuration = SignedDuration::from_secs(120);

/// The parts that a sign-in needs.
#[derive(Clone)]
pub struct EntraParts {
    /// Sends the requests.
    pub transport: Arc<dyn HttpTransport>,
    /// Gives the times in an assertion.
    pub clock: Arc<dyn Clock>,
    /// Gives ids and jitter; secrets come from the operating system.
    pub random: Arc<dyn Random>,
    /// The sign-in service.
    pub authority: Authority,
    /// How long one request may take.
    pub request_timeout: Duration,
    /// The tries of one step after the first one.
    pub retries_max: u32,
}

/// The endpoints of one tenant.
pub(super) struct Exchange {
    pub(super) parts: EntraParts,
    tenant: Guid,
    skew: Mutex<SignedDuration>,
}

impl Exchange {
    pub(super) fn new(parts: EntraParts, tenant: Guid) -> Self {
        Self { parts, tenant, skew: Mutex::new(SignedDuration::ZERO) }
    }

    /// The URL of an endpoint.
    pub(super) fn endpoint(&self, name: &str) -> String {
        self.parts.authority.endpoint(&self.tenant, name)
    }

    /// How far the server's clock is ahead, according to its `Date` headers.
    pub(super) fn skew(&self) -> SignedDuration {
        *self.skew.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The server's time; this machine's time until the server has answered.
    pub(super) fn server_now(&self) -> Timestamp {
        let now = self.parts.clock.now();
        now.checked_add(self.skew()).unwrap_or(now)
    }

    /// Sends a form, and repeats it while the server has a problem.
    pub(super) async fn ask(
        &self,
        step: Step,
        endpoint: &str,
        fields: &[(&str, &str)],
    ) -> Result<Value, AuthError> {
        self.ask_anew(step, endpoint, || Ok(form(fields))).await
    }

    /// Like `ask`, but makes a new form for each try, for a form that must not be sent twice.
    pub(super) async fn ask_anew(
        &self,
        step: Step,
        endpoint: &str,
        mut form: impl FnMut() -> Result<Secret, AuthError>,
    ) -> Result<Value, AuthError> {
        let mut waited = Duration::ZERO;
        let mut retry = 0;
        loop {
            let error = match self.ask_once(step, endpoint, &form()?).await {
                Err(error) if error.is_transient() && retry < self.parts.retries_max => error,
                done => return done,
            };
            retry += 1;
            let delay = error.retry_after.unwrap_or_else(|| backoff(retry, &*self.parts.random));
            waited = waited.saturating_add(delay);
            if waited > RETRY_TOTAL_MAX {
                return Err(error);
            }
            tracing::debug!(%error, retry, delay_ms = delay.as_millis(), "a sign-in step is repeated");
            tokio::time::sleep(delay).await;
        }
    }

    /// Sends a form once.
    pub(super) async fn ask_once(
        &self,
        step: Step,
        endpoint: &str,
        form: &Secret,
    ) -> Result<Value, AuthError> {
        let headers = [
            ("content-type", "application/x-www-form-urlencoded"),
            ("accept", "application/json"),
            ("client-request-id", &self.parts.random.uuid()),
            ("user-agent", USER_AGENT),
        ];
        let body = form.expose().as_bytes().to_vec();
        let request = HttpRequest::new(Method::Post, self.endpoint(endpoint), &headers, Some(body));
        let answer = send_within(&*self.parts.transport, request, self.parts.request_timeout).await;
        let response = answer.map_err(|error| {
            let problem = format!("entra can't be reached for {}: {error}", step.0);
            let fix = "check the network and `auth.login_url`; it is tried again by itself";
            AuthError::new(AuthFailure::Unreachable, problem, fix)
        })?;
        self.read(step, &response)
    }

    /// Reads the body before the status, because some gateways answer errors with 200.
    fn read(&self, step: Step, response: &HttpResponse) -> Result<Value, AuthError> {
        let date = response.header("date").and_then(http_date);
        if let Some(date) = date {
            self.note_server_time(date);
        }
        let status = response.status;
        let retry_after = response
            .header("retry-after")
            .and_then(|value| retry_after(value, date.unwrap_or_else(|| self.server_now())));
        let size = response.body.len();
        let body: Value = if size <= ANSWER_BYTES_MAX {
            serde_json::from_slice(&response.body).unwrap_or_default()
        } else {
            Value::Null
        };
        let error = if let Some(error) = refusal(step, status, &body) {
            error
        } else if (200..300).contains(&status) && body.is_object() {
            return Ok(body);
        } else {
            let (failure, fix) = match status {
                429 => (AuthFailure::Throttled, "wait; it is tried again by itself"),
                500.. => (AuthFailure::Unavailable, "entra is in trouble; it is tried again by itself"),
                200..300 => {
                    (AuthFailure::Malformed, "see whether a proxy changes answers; it is tried again")
                }
                _ => (AuthFailure::Setup, "check `auth.login_url`"),
            };
            let problem =
                format!("entra answered {} with {status} and {size} bytes that are no JSON object", step.0);
            AuthError::new(failure, problem, fix)
        };
        Err(AuthError { retry_after, ..error })
    }

    fn note_server_time(&self, date: Timestamp) {
        let skew = date.duration_since(self.parts.clock.now());
        let skew = if skew.abs() <= SKEW_IGNORED { SignedDuration::ZERO } else { skew };
        let before = std::mem::replace(&mut *self.skew.lock().unwrap_or_else(PoisonError::into_inner), skew);
        if skew.abs() >= SKEW_NOTED && before.abs() < SKEW_NOTED {
            let seconds = skew.as_secs();
            tracing::warn!(
                seconds,
                "this machine's clock is wrong by so much; entra's time is used to sign in, but set the clock"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::support::script::{Reply, Script};
    use crate::warnings::Warnings;
    use entraclaw_seams::clock::TokioClock;
    use entraclaw_seams::random::SplitMix;

    const STEP: Step = Step("hop 1");

    fn exchange(script: &Arc<Script>) -> Exchange {
        let parts = EntraParts {
            transport: script.clone(),
            clock: Arc::new(TokioClock::starting_at("2026-11-21T10:00:00Z".parse().unwrap())),
            random: Arc::new(SplitMix::seeded(7)),
            authority: Authority::microsoft(),
            request_timeout: Duration::from_secs(20),
            retries_max: SIGN_IN_RETRIES_MAX,
        };
        Exchange::new(parts, Guid::parse("aaaaaaaa-0000-0000-0000-000000000001").unwrap())
    }

    fn replies(replies: Vec<Reply>) -> Arc<Script> {
        let mut replies = replies.into_iter();
        Script::new(move |_| replies.next().unwrap_or_else(|| Reply::raw(200, "{\"ok\": 1}")))
    }

    #[rstest]
    #[case::right(&[0], 0, 0)]
    #[case::as_coarse_as_the_header(&[2], 0, 0)]
    #[case::as_coarse_the_other_way(&[-2], 0, 0)]
    #[case::off(&[3], 3, 0)]
    #[case::nearly_two_minutes(&[119], 119, 0)]
    #[case::two_minutes(&[120], 120, 1)]
    #[case::two_minutes_ahead(&[-120], -120, 1)]
    #[case::wrong_for_long(&[300, 301, 120, -300], -300, 1)]
    #[case::wrong_again(&[300, 0, 300], 300, 2)]
    #[case::right_again(&[300, 1], 0, 1)]
    #[tokio::test(start_paused = true)]
    async fn the_time_of_entra_counts_and_a_wrong_clock_is_told_once(
        #[case] seconds_ahead: &[i64],
        #[case] skew_seconds: i64,
        #[case] warnings: usize,
    ) {
        let (exchange, log) = (exchange(&replies(vec![])), Warnings::default());
        let now = exchange.parts.clock.now();
        tracing::subscriber::with_default(log.clone(), || {
            for ahead in seconds_ahead {
                exchange.note_server_time(now + SignedDuration::from_secs(*ahead));
            }
        });
        assert_eq!(exchange.skew(), SignedDuration::from_secs(skew_seconds));
        assert_eq!(exchange.server_now(), now + exchange.skew());
        assert_eq!(log.count(), warnings);
    }

    #[tokio::test(start_paused = true)]
    async fn a_form_is_posted() {
        let script = replies(vec![]);
        exchange(&script).ask(STEP, "token", &[("a b", "c&d=é"), ("e", "")]).await.unwrap();
        let seen = &script.seen()[0];
        assert_eq!(seen.line(), "POST /aaaaaaaa-0000-0000-0000-000000000001/oauth2/v2.0/token");
        assert_eq!(seen.request.body.as_deref(), Some(&b"a+b=c%26d%3D%C3%A9&e="[..]));
        assert_eq!(seen.header("content-type"), Some("application/x-www-form-urlencoded"));
        assert_eq!(seen.header("client-request-id").unwrap().len(), 36);
        assert_eq!(seen.header("authorization"), None);
    }

    #[rstest]
    #[case(Reply::raw(503, "<html>busy</html>"), 3_000, 4_000)]
    #[case(Reply::raw(502, ""), 3_000, 4_000)]
    #[case(Reply::raw(200, "<html>a hotel wants money</html>"), 3_000, 4_000)]
    #[case(Reply::raw(429, "").header("retry-after", "7"), 7_000, 7_001)]
    #[case(
        Reply::raw(400, r#"{"error":"temporarily_unavailable","error_description":"AADSTS90033: x"}"#),
        3_000,
        4_000
    )]
    #[case(Reply::broken(), 3_000, 4_000)]
    #[case(Reply::unreachable(), 3_000, 4_000)]
    #[tokio::test(start_paused = true)]
    async fn a_request_is_repeated_after_a_failure_of_the_server(
        #[case] trouble: Reply,
        #[case] from_ms: u128,
        #[case] to_ms: u128,
    ) {
        let script = replies(vec![trouble]);
        let started = tokio::time::Instant::now();
        exchange(&script).ask(STEP, "token", &[]).await.unwrap();
        let took = started.elapsed().as_millis();
        assert!((from_ms..to_ms).contains(&took), "{took} ms");
    }

    #[rstest]
    #[case(
        200,
        r#"{"error":"invalid_grant","error_description":"AADSTS700082: old"}"#,
        AuthFailure::Interaction
    )]
    #[case(
        401,
        r#"{"error":"invalid_client","error_description":"AADSTS700027: no"}"#,
        AuthFailure::Credential
    )]
    #[case(404, "<html>not found</html>", AuthFailure::Setup)]
    #[case(302, "", AuthFailure::Setup)]
    #[tokio::test(start_paused = true)]
    async fn what_will_not_change_is_not_repeated(
        #[case] status: u16,
        #[case] body: &'static str,
        #[case] failure: AuthFailure,
    ) {
        let script = Script::new(move |_| Reply::raw(status, body));
        let error = exchange(&script).ask(STEP, "token", &[]).await.unwrap_err();
        assert_eq!(error.failure, failure);
        assert_eq!(script.seen().len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn it_gives_up_in_bounded_time() {
        let script = Script::new(|_| Reply::raw(503, "").header("retry-after", "3000"));
        let error = exchange(&script).ask(STEP, "token", &[]).await.unwrap_err();
        assert_eq!((script.seen().len(), error.retry_after), (1, Some(Duration::from_secs(3_000))));
        let script = Script::new(|_| Reply::raw(503, ""));
        let started = tokio::time::Instant::now();
        exchange(&script).ask(STEP, "token", &[]).await.unwrap_err();
        assert!(script.seen().len() == 4 && started.elapsed() < Duration::from_secs(45));
    }

    #[tokio::test(start_paused = true)]
    async fn the_servers_date_is_the_time() {
        let script = replies(vec![Reply::raw(200, "{}").header("date", "Sat, 21 Nov 2026 10:10:00 GMT")]);
        let exchange = exchange(&script);
        exchange.ask(STEP, "token", &[]).await.unwrap();
        assert_eq!(exchange.server_now(), "2026-11-21T10:10:00Z".parse().unwrap());
    }
}
