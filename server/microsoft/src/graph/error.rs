//! The failures of requests: whether a request may be repeated, whether it was applied, and what helps.
//! An error must never hold a token, a query string or a message body.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use serde_json::Value;

use crate::entra::AuthError;
use crate::http::one_line;

/// The kind of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// There is no token, or no fresh one, and a person must act.
    SignIn,
    /// There is no token now; the program tries again by itself.
    SignInLater,
    /// 401, even with a fresh token.
    Unauthorized,
    /// 403: scope, licence or policy.
    Forbidden,
    /// 404.
    NotFound,
    /// 400: the request itself is wrong.
    BadRequest,
    /// 410: the requested item is gone.
    Gone,
    /// 429: too many requests.
    Throttled,
    /// Another 4xx.
    Rejected,
    /// 5xx, or 408: a server on the way gave up, and it is unknown how far the request got.
    Unavailable,
    /// No connection, so nothing was applied.
    Unreachable,
    /// The connection broke, or the time was up.
    NoAnswer,
    /// The request succeeded, but the body is not the expected JSON.
    Malformed,
    /// A link in the answer leaves our origin and was not followed.
    ForeignLink,
}

/// A failed request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphError {
    /// The kind.
    pub failure: Failure,
    /// HTTP status, when there was an answer.
    pub status: Option<u16>,
    /// Error codes of the answer, outermost first.
    pub codes: Vec<String>,
    /// What happened, in one line.
    pub message: String,
    /// The server's id of the request.
    pub request_id: Option<String>,
    /// Our id of the request.
    pub client_request_id: Box<str>,
    /// How long the server wants no more requests.
    pub retry_after: Option<Duration>,
    /// What the sign-in needs before it can continue.
    pub needs: Option<Box<Needs>>,
}

/// The requirement of a sign-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Needs {
    /// A person must do this.
    Fix(String),
    /// A token with these claims (JSON) is needed.
    Claims(String),
}

/// The most error codes that are kept of one answer.
const CODES_MAX: usize = 8;
/// How many levels of `innerError` are read.
const INNER_ERRORS_DEPTH_MAX: usize = 8;

impl GraphError {
    /// A failure without any data of an answer.
    pub fn new(failure: Failure, message: String, client_request_id: String) -> Self {
        Self {
            failure,
            status: None,
            codes: Vec::new(),
            message,
            request_id: None,
            client_request_id: client_request_id.into_boxed_str(),
            retry_after: None,
            needs: None,
        }
    }

    /// A request that was not sent, because there is no token.
    pub(super) fn sign_in(error: AuthError, client_request_id: String) -> Self {
        let failure = if error.is_transient() { Failure::SignInLater } else { Failure::SignIn };
        Self {
            retry_after: error.retry_after,
            needs: Some(Box::new(Needs::Fix(error.fix))),
            ..Self::new(failure, error.problem, client_request_id)
        }
    }

    /// A successful answer whose JSON is not the expected one.
    pub fn malformed(message: &str) -> Self {
        Self::new(Failure::Malformed, message.to_owned(), "none".to_owned())
    }

    /// Whether the same GET may succeed a moment later.
    pub fn is_transient(&self) -> bool {
        matches!(
            self.failure,
            Failure::SignInLater
                | Failure::Throttled
                | Failure::Unavailable
                | Failure::Unreachable
                | Failure::NoAnswer
                | Failure::Malformed
        )
    }

    /// Whether a POST with this failure was certainly not applied.
    pub fn was_not_applied(&self) -> bool {
        match self.failure {
            Failure::Unavailable | Failure::NoAnswer | Failure::Malformed | Failure::ForeignLink => false,
            Failure::SignIn
            | Failure::SignInLater
            | Failure::Unauthorized
            | Failure::Forbidden
            | Failure::NotFound
            | Failure::BadRequest
            | Failure::Gone
            | Failure::Throttled
            | Failure::Rejected
            | Failure::Unreachable => true,
        }
    }

    /// Whether an error code occurs at any depth.
    pub fn has_code(&self, code: &str) -> bool {
        self.codes.iter().any(|c| c.eq_ignore_ascii_case(code))
    }

    /// What the caller of a tool can do about the error; a single request is not repeated by itself.
    pub fn advice_for_call(&self) -> Cow<'_, str> {
        match (self.failure, self.retry_after) {
            (Failure::Throttled, Some(wait)) => {
                format!("call again in {} s, it is not repeated by itself", wait.as_secs().max(1)).into()
            }
            (Failure::Throttled | Failure::SignInLater | Failure::Unreachable, _) => {
                "call again in a minute, it is not repeated by itself".into()
            }
            (Failure::Unavailable | Failure::Malformed | Failure::NoAnswer, _) => {
                "graph is in trouble; call again in a minute".into()
            }
            _ => self.advice().into(),
        }
    }

    /// What the operator can do about the error, when the request is repeated by itself.
    pub fn advice(&self) -> &str {
        match self.needs.as_deref() {
            Some(Needs::Fix(fix)) => return fix,
            Some(Needs::Claims(_)) => {
                return "a policy wants more of this sign-in than it can give; ask the administrator to except the agent";
            }
            None => {}
        }
        match self.failure {
            Failure::SignIn | Failure::Unauthorized => {
                "graph refuses also a fresh access token; see with `entraclaw login` who has signed in"
            }
            Failure::Forbidden => {
                "check that the token has the scopes Chat.Read and ChatMessage.Send and that the agent has a Teams licence"
            }
            Failure::NotFound => "check the id; the agent may have left the chat",
            Failure::BadRequest | Failure::Rejected => {
                "the request is not accepted as it is; repeating it does not help"
            }
            Failure::Gone => "start again from the beginning",
            Failure::SignInLater | Failure::Throttled => "wait; it is tried again by itself",
            Failure::Unavailable | Failure::Malformed | Failure::NoAnswer => {
                "graph is in trouble; reading is tried again by itself"
            }
            Failure::Unreachable => "check the network and `graph.url`",
            Failure::ForeignLink => "check `graph.url`; links of answers must stay on it",
        }
    }
}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(status) = self.status {
            write!(f, "graph answered {status}")?;
            if let Some(code) = self.codes.first() {
                write!(f, " {code}")?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&self.message)?;
        match &self.request_id {
            Some(id) => write!(f, " (request-id {id})"),
            None => write!(f, " (client-request-id {})", self.client_request_id),
        }
    }
}

impl std::error::Error for GraphError {}

/// The kind of failure of a status other than 2xx.
pub(super) fn failure_of(status: u16) -> Failure {
    match status {
        400 => Failure::BadRequest,
        401 => Failure::Unauthorized,
        403 => Failure::Forbidden,
        404 => Failure::NotFound,
        408 => Failure::Unavailable,
        410 => Failure::Gone,
        429 | 509 => Failure::Throttled,
        402..=499 => Failure::Rejected,
        // A redirect is not followed, so its answer can't be used.
        _ => Failure::Unavailable,
    }
}

/// The content of an error body.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Envelope {
    pub(super) codes: Vec<String>,
    pub(super) message: Option<String>,
    pub(super) request_id: Option<String>,
}

/// Reads the error envelope at any depth; HTML and incomplete JSON give an empty one.
pub(super) fn envelope(body: &[u8]) -> Envelope {
    let mut envelope = Envelope::default();
    let Ok(value) = serde_json::from_slice::<Value>(body) else { return envelope };
    let error = value.get("error").unwrap_or(&value);
    if let Some(code) = error.as_str() {
        // This is Entra's form: it has the code where Graph has an object.
        envelope.codes.push(one_line(code));
        envelope.message = value.get("error_description").and_then(Value::as_str).map(one_line);
        return envelope;
    }
    envelope.message = error.get("message").and_then(Value::as_str).map(one_line).filter(|m| !m.is_empty());
    let mut level = Some(error);
    for _ in 0..INNER_ERRORS_DEPTH_MAX {
        let Some(here) = level else { break };
        if let Some(code) = here.get("code").and_then(Value::as_str).filter(|c| !c.is_empty())
            && envelope.codes.len() < CODES_MAX
        {
            envelope.codes.push(one_line(code));
        }
        if envelope.request_id.is_none() {
            envelope.request_id = here.get("request-id").and_then(Value::as_str).map(one_line);
        }
        level = here.get("innerError").or_else(|| here.get("innererror"));
    }
    envelope
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(
        r#"{"error":{"code":"Forbidden","message":"no","innerError":{"code":"insufficient","request-id":"r1"}}}"#,
        &["Forbidden", "insufficient"], Some("no"), Some("r1")
    )]
    #[case(r#"{"error":{"code":"","message":"","innererror":{"innererror":{"code":"deep"}}}}"#, &["deep"], None, None)]
    #[case(r#"{"error":"invalid_grant","error_description":"AADSTS1:\r\nx"}"#, &["invalid_grant"], Some("AADSTS1:  x"), None)]
    #[case(r#"{"error":{"code":7,"message":[]}}"#, &[], None, None)]
    #[case("<html><h1>503</h1></html>", &[], None, None)]
    #[case(r#"{"error":{"code":"Cut"#, &[], None, None)]
    #[case("", &[], None, None)]
    #[case("null", &[], None, None)]
    fn envelopes_are_read_leniently(
        #[case] body: &str,
        #[case] codes: &[&str],
        #[case] message: Option<&str>,
        #[case] request_id: Option<&str>,
    ) {
        let read = envelope(body.as_bytes());
        assert_eq!(read.codes, codes);
        assert_eq!(read.message.as_deref(), message);
        assert_eq!(read.request_id.as_deref(), request_id);
    }

    #[rstest]
    #[case(408, true, false)]
    #[case(409, false, true)]
    #[case(429, true, true)]
    #[case(504, true, false)]
    fn what_is_known_of_a_failure(#[case] status: u16, #[case] transient: bool, #[case] not_applied: bool) {
        let error = GraphError::new(failure_of(status), String::new(), String::new());
        assert_eq!((error.is_transient(), error.was_not_applied()), (transient, not_applied));
    }

    #[test]
    fn a_deep_envelope_is_cut_off() {
        let mut body = String::from("{\"error\":");
        body.push_str(&"{\"code\":\"x\",\"innerError\":".repeat(60));
        body.push_str("null");
        body.push_str(&"}".repeat(61));
        assert_eq!(envelope(body.as_bytes()).codes.len(), CODES_MAX);
    }
}
