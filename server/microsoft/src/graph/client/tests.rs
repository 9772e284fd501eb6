//! The client against a scripted Graph, on a paused clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::future::{self, BoxFuture};
use rstest::rstest;
use serde_json::json;
use tokio::time::Instant;

use super::*;
use crate::entra::AuthError;
use crate::support::script::{Reply, Script};

const MINUTE: Duration = Duration::from_secs(60);

/// Gives `token-1`, then `token-2`, …
#[derive(Default)]
struct Renewing(AtomicU32);

impl TokenSource for Renewing {
    fn token(&self) -> BoxFuture<'_, Result<Secret, AuthError>> {
        Box::pin(future::ready(Ok(Secret::new(format!("token-{}", self.0.load(Ordering::Relaxed) + 1)))))
    }

    fn refresh<'a>(&'a self, _: &'a Secret) -> BoxFuture<'a, Result<Secret, AuthError>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        self.token()
    }
}

/// Answers the first requests with `replies`, all others with an empty list.
fn replies(replies: Vec<Reply>) -> Arc<Script> {
    let mut replies = replies.into_iter();
    Script::new(move |_| replies.next().unwrap_or_else(|| Reply::json(200, &json!({"value": []}))))
}

#[tokio::test(start_paused = true)]
async fn a_request_carries_what_graph_wants() {
    let script = replies(vec![]);
    let client = script.client();
    client.get_once(&client.url(&["me"], &[]), Scope::Common).await.unwrap();
    let seen = &script.seen()[0];
    assert_eq!(seen.line(), "GET /v1.0/me");
    assert_eq!(seen.header("authorization"), Some("Bearer token-1"));
    assert_eq!(seen.header("prefer"), Some("include-unknown-enum-members"));
    assert_eq!(seen.header("client-request-id").unwrap().len(), 36);
}

#[rstest]
#[case(Reply::error(429, "TooManyRequests").header("retry-after", "7"), 7_000, 9_000)]
#[case(Reply::error(429, "x").header("retry-after", "Sat, 21 Nov 2026 10:00:09 GMT"), 9_000, 11_000)]
#[case(Reply::error(429, "x").header("retry-after", "Sat, 21 Nov 2026 12:00:04 GMT").header("date", "Sat, 21 Nov 2026 12:00:00 GMT"), 4_000, 6_000)]
#[case(Reply::error(429, "x"), 3_000, 6_000)]
#[case(Reply::error(500, "x"), 3_000, 4_000)]
#[case(Reply::raw(503, "<html>busy</html>"), 3_000, 4_000)]
#[case(Reply::error(504, "x").header("retry-after", "2"), 2_000, 2_000)]
#[case(Reply::raw(200, "{\"value\": [1, 2"), 3_000, 4_000)]
#[case(Reply::broken(), 3_000, 4_000)]
#[case(Reply::unreachable(), 3_000, 4_000)]
#[tokio::test(start_paused = true)]
async fn a_read_is_repeated_not_sooner_than_allowed(
    #[case] first: Reply,
    #[case] ms_min: u128,
    #[case] ms_max: u128,
) {
    let script = replies(vec![first]);
    let client = script.client();
    client.get("https://graph.microsoft.com/v1.0/me", Scope::Common, MINUTE).await.unwrap();
    let seen = script.seen();
    assert_eq!(seen.len(), 2);
    assert!((ms_min..=ms_max).contains(&seen[1].at.as_millis()), "{:?}", seen[1].at);
    assert_eq!(seen[1].header("retry-attempt"), Some("1"));
}

#[rstest]
#[case(400, Failure::BadRequest)]
#[case(403, Failure::Forbidden)]
#[case(404, Failure::NotFound)]
#[case(409, Failure::Rejected)]
#[case(410, Failure::Gone)]
#[case(412, Failure::Rejected)]
#[tokio::test(start_paused = true)]
async fn other_refusals_are_reported_at_once(#[case] status: u16, #[case] failure: Failure) {
    let script = replies(vec![Reply::error(status, "Nope").header("request-id", "r-1")]);
    let error =
        script.client().get("https://graph.microsoft.com/v1.0/me", Scope::Common, MINUTE).await.unwrap_err();
    assert_eq!((error.failure, error.status), (failure, Some(status)));
    assert_eq!(error.to_string(), format!("graph answered {status} Nope: because (request-id r-1)"));
    assert!(error.has_code("nope") && !error.advice().is_empty());
    assert_eq!(script.seen().len(), 1);
}

#[rstest]
#[case::as_long_as_may_be(BODY_BYTES_MAX, true)]
#[case::longer(BODY_BYTES_MAX + 1, false)]
#[tokio::test(start_paused = true)]
async fn an_answer_is_read_up_to_a_bound(#[case] bytes: usize, #[case] is_read: bool) {
    let body = format!("\"{}\"", "a".repeat(bytes - 2));
    let script = replies(vec![Reply::raw(200, body)]);
    let read = script.client().get_once("https://graph.microsoft.com/v1.0/me", Scope::Common).await;
    let failure = read.err().map(|error| error.failure);
    assert_eq!(failure, (!is_read).then_some(Failure::Malformed));
}

#[tokio::test(start_paused = true)]
async fn reads_give_up_after_three_retries() {
    let script = Script::new(|_| Reply::error(503, "busy"));
    let begun = Instant::now();
    let error = script
        .client()
        .get("https://graph.microsoft.com/v1.0/me", Scope::Common, Duration::from_secs(180))
        .await
        .unwrap_err();
    assert_eq!(error.failure, Failure::Unavailable);
    assert_eq!(script.seen().len(), 4);
    assert!(begun.elapsed() >= Duration::from_secs(21) && begun.elapsed() <= Duration::from_secs(24));
}

#[tokio::test(start_paused = true)]
async fn a_pause_longer_than_the_patience_ends_the_request() {
    let script = Script::new(|_| Reply::error(429, "x").header("retry-after", "30"));
    let begun = Instant::now();
    let client = script.client();
    client
        .get("https://graph.microsoft.com/v1.0/me", Scope::Common, Duration::from_secs(10))
        .await
        .unwrap_err();
    assert_eq!(begun.elapsed(), Duration::ZERO);
    assert_eq!(script.seen().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_pause_as_long_as_the_patience_is_waited_for() {
    let script = replies(vec![Reply::error(503, "busy").header("retry-after", "10")]);
    let client = script.client();
    client.get(&client.url(&["me"], &[]), Scope::Common, Duration::from_secs(10)).await.unwrap();
    assert_eq!(script.seen().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_refused_token_is_renewed_once() {
    let script = Script::new(|seen| {
        if seen.header("authorization") == Some("Bearer token-2") {
            Reply::json(200, &json!({"id": "me"}))
        } else {
            Reply::error(401, "InvalidAuthenticationToken")
        }
    });
    let client = script.client_with(Arc::new(Renewing::default()));
    let answer = client.get_once("https://graph.microsoft.com/v1.0/me", Scope::Common).await.unwrap();
    assert_eq!(answer["id"], "me");
    assert_eq!(script.seen().len(), 2);
}

/// Returns as its token the claims of the challenge.
struct Challenged;

impl TokenSource for Challenged {
    fn token(&self) -> BoxFuture<'_, Result<Secret, AuthError>> {
        Box::pin(future::ready(Ok(Secret::new("plain"))))
    }

    fn refresh<'a>(&'a self, _: &'a Secret) -> BoxFuture<'a, Result<Secret, AuthError>> {
        self.token()
    }

    fn challenged<'a>(&'a self, _: &'a Secret, claims: &'a str) -> BoxFuture<'a, Result<Secret, AuthError>> {
        Box::pin(future::ready(Ok(Secret::new(claims))))
    }
}

#[rstest]
#[case(401)]
#[case(403)]
#[tokio::test(start_paused = true)]
async fn a_claims_challenge_reaches_the_token_source(#[case] status: u16) {
    // {"a":1}
    let challenge = r#"Bearer realm="", error="insufficient_claims", claims="eyJhIjoxfQ==""#;
    let script = replies(vec![
        Reply::error(status, "InvalidAuthenticationToken").header("www-authenticate", challenge),
    ]);
    let client = script.client_with(Arc::new(Challenged));
    client.get_once("https://graph.microsoft.com/v1.0/me", Scope::Common).await.unwrap();
    assert_eq!(script.seen()[1].header("authorization"), Some("Bearer {\"a\":1}"));
    let script = Script::new(move |_| Reply::error(status, "x").header("www-authenticate", challenge));
    let client = script.client_with(Arc::new(Challenged));
    let error = client.get_once("https://graph.microsoft.com/v1.0/me", Scope::Common).await.unwrap_err();
    assert_eq!((error.failure, script.seen().len()), (Failure::Unauthorized, 2));
    assert!(error.advice().contains("policy"), "{}", error.advice());
}

/// A token source that fails for a while.
#[derive(Default)]
struct Troubled(AtomicU32);

impl TokenSource for Troubled {
    fn token(&self) -> BoxFuture<'_, Result<Secret, AuthError>> {
        let tries = self.0.fetch_add(1, Ordering::Relaxed);
        let error = AuthError::new(crate::entra::AuthFailure::Unavailable, "busy", "wait");
        Box::pin(future::ready(if tries < 2 { Err(error) } else { Ok(Secret::new("t")) }))
    }

    fn refresh<'a>(&'a self, _: &'a Secret) -> BoxFuture<'a, Result<Secret, AuthError>> {
        self.token()
    }
}

#[tokio::test(start_paused = true)]
async fn a_sign_in_that_is_in_trouble_is_waited_for() {
    let script = replies(vec![]);
    let client = script.client_with(Arc::new(Troubled::default()));
    client.get("https://graph.microsoft.com/v1.0/me", Scope::Common, MINUTE).await.unwrap();
    assert_eq!(script.seen().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_second_401_surfaces() {
    let script = Script::new(|_| Reply::error(401, "InvalidAuthenticationToken"));
    let client = script.client_with(Arc::new(Renewing::default()));
    let error = client.get("https://graph.microsoft.com/v1.0/me", Scope::Common, MINUTE).await.unwrap_err();
    assert_eq!(error.failure, Failure::Unauthorized);
    assert_eq!(script.seen().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_static_token_that_is_refused_says_what_to_do() {
    let script = Script::new(|_| Reply::error(401, "InvalidAuthenticationToken"));
    let error =
        script.client().get_once("https://graph.microsoft.com/v1.0/me", Scope::Common).await.unwrap_err();
    assert_eq!(error.failure, Failure::SignIn);
    assert!(error.advice().contains("set ENTRACLAW_ACCESS_TOKEN"), "{error}");
    assert_eq!(script.seen().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_advice_for_a_single_call_promises_no_repetition() {
    for (status, words) in
        [(429, "call again in 300 s, it is not repeated by itself"), (503, "call again in a minute")]
    {
        let script = Script::new(move |_| Reply::error(status, "x").header("retry-after", "300"));
        let url = "https://graph.microsoft.com/v1.0/me";
        let error = script.client().post(url, &json!({}), Scope::Common).await.unwrap_err();
        assert!(error.advice_for_call().contains(words), "{}", error.advice_for_call());
    }
}

#[tokio::test(start_paused = true)]
async fn no_error_repeats_the_token() {
    let script = Script::new(|_| {
        Reply::json(403, &json!({"error": {"code": "token-1", "message": "you sent Bearer token-1"}}))
    });
    let error =
        script.client().get_once("https://graph.microsoft.com/v1.0/me", Scope::Common).await.unwrap_err();
    assert!(!format!("{error} {error:?}").contains("token-1"));
}

#[rstest]
#[case(Reply::error(503, "x"), 1)]
#[case(Reply::error(500, "x"), 1)]
#[case(Reply::broken(), 1)]
#[case(Reply::raw(201, "{\"id\":"), 1)]
#[case(Reply::error(429, "x").header("retry-after", "3"), 2)]
#[case(Reply::unreachable(), 2)]
#[tokio::test(start_paused = true)]
async fn a_post_is_repeated_only_if_it_was_not_applied(#[case] first: Reply, #[case] requests: usize) {
    let script = replies(vec![first]);
    let client = script.client();
    let outcome =
        client.post("https://graph.microsoft.com/v1.0/chats/a/messages", &json!({}), Scope::Chat("a")).await;
    assert_eq!(script.seen().len(), requests);
    assert_eq!(outcome.is_ok(), requests == 2);
    if let Err(error) = outcome {
        assert!(!error.was_not_applied());
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_without_an_answer_ends() {
    let script = Script::new(|_| Reply::json(200, &json!({})).after(Duration::from_secs(3_600)));
    let begun = Instant::now();
    let error =
        script.client().get_once("https://graph.microsoft.com/v1.0/me", Scope::Common).await.unwrap_err();
    assert_eq!(error.failure, Failure::NoAnswer);
    assert_eq!(begun.elapsed(), Duration::from_secs(20));
}

#[tokio::test(start_paused = true)]
async fn a_throttled_chat_holds_only_itself() {
    let script = Script::new(|seen| {
        if seen.line().contains("/a/") {
            Reply::error(429, "x").header("retry-after", "30")
        } else {
            Reply::json(200, &json!({}))
        }
    });
    let client = script.client();
    let get = |chat: &'static str| {
        let (client, url) = (&client, client.url(&["chats", chat, "messages"], &[]));
        async move { client.get_once(&url, Scope::Chat(chat)).await }
    };
    let begun = Instant::now();
    get("a").await.unwrap_err();
    get("b").await.unwrap();
    assert_eq!(begun.elapsed(), Duration::ZERO);
    get("a").await.unwrap_err();
    assert_eq!(begun.elapsed(), Duration::from_secs(30));
}

#[tokio::test(start_paused = true)]
async fn the_servers_time_is_told_by_its_date() {
    let script = replies(vec![Reply::json(200, &json!({})).header("date", "Sat, 21 Nov 2026 10:05:00 GMT")]);
    let client = script.client();
    assert_eq!(client.server_now().to_string(), "2026-11-21T10:00:00Z");
    client.get_once("https://graph.microsoft.com/v1.0/me", Scope::Common).await.unwrap();
    assert_eq!(client.server_now().to_string(), "2026-11-21T10:05:00Z");
}

#[tokio::test(start_paused = true)]
async fn a_link_to_somewhere_else_is_not_followed() {
    let client = replies(vec![]).client();
    let page = json!({"@odata.nextLink": "https://contoso.com/v1.0/me/chats"});
    let error = client.next_link(&page).unwrap_err();
    assert_eq!(error.failure, Failure::ForeignLink);
    assert!(error.to_string().contains("it leads to https://contoso.com"), "{error}");
    assert_eq!(client.next_link(&json!({"@odata.nextLink": 7})).unwrap(), None);
    assert_eq!(client.next_link(&json!([])).unwrap(), None);
}

#[rstest]
#[case("https://contoso.sharepoint.com/x?tempauth=1", true)]
#[case("https://contoso-my.sharepoint.com/x", true)]
#[case("http://contoso.sharepoint.com/x", false)]
#[case("https://contoso.sharepoint.com:8443/x", false)]
#[case("https://me@contoso.sharepoint.com/x", false)]
#[case("https://sharepoint.com.example.com/x", false)]
#[case("https://evilsharepoint.com/x", false)]
#[case("https://127.0.0.1/x", false)]
#[case("file:///etc/passwd", false)]
#[case("", false)]
fn only_microsofts_stores_of_files_are_followed(#[case] location: &str, #[case] known: bool) {
    assert_eq!(is_file_store(location), known);
}
