//! The seam: a request, its answer, and who carries them. Production is reqwest; a simulation calls a state machine in
//! the same thread.

use futures_util::future::BoxFuture;

/// The largest body that is read.
pub const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The verbs that Entraclaw uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Read.
    Get,
    /// Create or act; never blindly repeated.
    Post,
    /// Change.
    Patch,
}

impl Method {
    /// The verb as it is on the wire.
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
    /// The verb.
    pub method: Method,
    /// Absolute URL.
    pub url: String,
    /// Header names and values, `Authorization` among them: never log this list as it is.
    pub headers: Vec<(String, String)>,
    /// JSON body.
    pub body: Option<Vec<u8>>,
}

/// Whatever came back, whole.
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

/// No answer: the request may or may not have been applied.
#[derive(Debug, Clone, thiserror::Error)]
pub enum TransportError {
    /// The connection could not be made, so nothing was applied.
    #[error("cannot reach {host}: {reason}")]
    Connect {
        /// Host and port.
        host: String,
        /// What the system said, without query strings or headers.
        reason: String,
    },
    /// The connection broke or timed out after the request was sent.
    #[error("no answer from {host}: {reason}")]
    Broken {
        /// Host and port.
        host: String,
        /// What the system said.
        reason: String,
    },
}

/// Sends one request and returns the whole answer. No retries, no redirects, no cookies.
pub trait HttpTransport: Send + Sync {
    /// Sends `request`; dropping the future abandons it.
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportError>>;
}
