//! Requests and answers as plain data, so that any transport can carry them.
//! It never interprets them; the state machine does that.

use serde::Serialize;

/// One complete HTTP request.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The verb in capitals.
    pub method: String,
    /// Absolute URL, or path and query.
    pub url: String,
    /// Header names in any case, and values.
    pub headers: Vec<(String, String)>,
    /// The body; empty when there is none.
    pub body: Vec<u8>,
}

impl Request {
    /// A request without headers and without a body.
    pub fn new(method: &str, url: &str) -> Self {
        Self { method: method.to_owned(), url: url.to_owned(), ..Self::default() }
    }

    /// A `GET` request without headers.
    pub fn get(url: &str) -> Self {
        Self::new("GET", url)
    }

    /// A `POST` request with a JSON body.
    pub fn post(url: &str, body: &serde_json::Value) -> Self {
        Self::new("POST", url).json(body)
    }

    /// The same request with one more header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same request with a bearer token.
    #[must_use]
    pub fn bearer(self, token: &str) -> Self {
        self.header("authorization", &format!("Bearer {token}"))
    }

    /// The same request with a JSON body.
    #[must_use]
    pub fn json(mut self, body: &serde_json::Value) -> Self {
        self.body = body.to_string().into_bytes();
        self.header("content-type", "application/json")
    }

    /// The first value of a header; the case of the name does not matter.
    pub fn header_value(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
    }
}

/// Whether an answer arrived, and if not, whether its request took effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// The answer arrives.
    Delivered,
    /// The connection broke before the request took effect.
    DroppedBeforeApply,
    /// The request took effect and the connection broke before the answer arrived.
    DroppedAfterApply,
}

/// One complete HTTP answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// HTTP status; it means nothing to the caller unless the answer is delivered.
    pub status: u16,
    /// Header names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// The body before any compression.
    pub body: Vec<u8>,
    /// How long the service takes to answer, in milliseconds.
    pub delay_ms: u64,
    /// Whether the caller gets the answer.
    pub fate: Fate,
}

impl Answer {
    /// The first value of a header; `name` is in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    /// The body as JSON; null when the body is not JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or(serde_json::Value::Null)
    }

    pub(crate) fn set_header(&mut self, name: &str, value: &str) {
        self.headers.retain(|(n, _)| n != name);
        self.headers.push((name.to_owned(), value.to_owned()));
    }
}
