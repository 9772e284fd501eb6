//! The HTTP seam: a request, its answer, and the transport that carries them.
//! Production uses reqwest; a simulation calls a state machine in the same thread.

use futures_util::future::BoxFuture;

/// The largest body that is read.
pub const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The HTTP methods that Entraclaw uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Reads a resource.
    Get,
    /// Creates a resource or starts an action; it is never blindly repeated.
    Post,
    /// Changes a resource.
    Patch,
}

impl Method {
    /// The method's name in the request.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Patch => "PATCH",
        }
    }
}

/// One request with an absolute URL that the client has already checked against the allowed origin.
#[derive(Debug, Clone)]
pub struct HttpRequest {
    /// The HTTP method.
    pub method: Method,
    /// Absolute URL.
    pub url: String,
    /// Header names and values. They include `Authorization`, so this list must never be logged as it is.
    pub headers: Vec<(String, String)>,
    /// JSON body.
    pub body: Option<Vec<u8>>,
}

impl HttpRequest {
    /// A request with these headers.
    pub fn new(method: Method, url: String, headers: &[(&str, &str)], body: Option<Vec<u8>>) -> Self {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self { method, url, headers, body }
    }
}

/// A complete answer.
#[derive(Debug, Clone)]
pub struct HttpResponse {
    /// HTTP status.
    pub status: u16,
    /// Header names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// The body, decompressed.
    pub body: Vec<u8>,
}

impl HttpResponse {
    /// The first value of a header, by lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }
}

/// A request without an answer; the variant says whether it may have been applied.
#[derive(Debug, Clone, thiserror::Error)]
pub enum TransportError {
    /// The connection could not be made, so nothing was applied.
    #[error("cannot reach {host}: {reason}")]
    Connect {
        /// Host and port.
        host: String,
        /// The system's message, without query strings or headers.
        reason: String,
    },
    /// The connection broke or timed out after the request was sent.
    #[error("no answer from {host}: {reason}")]
    Broken {
        /// Host and port.
        host: String,
        /// The system's message.
        reason: String,
    },
}

/// Sends one request and returns the whole answer, without retries, redirects or cookies.
pub trait HttpTransport: Send + Sync {
    /// Sends `request`; dropping the future cancels it.
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportError>>;
}
