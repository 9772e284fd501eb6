//! HTTP: the seam through which Graph, the sign-in and the bot send requests, and common readers for any
//! answer.
//! It must never know the purpose of a request.

mod reqwest_transport;
mod retry;
mod root;
mod transport;

use std::time::Duration;

use url::Url;

pub use reqwest_transport::ReqwestTransport;
pub use retry::RETRY_AFTER_MAX;
pub(crate) use retry::{backoff, http_date, retry_after};
pub use root::RootError;
pub(crate) use root::{host_and_port, is_local, root};
pub use transport::{BODY_BYTES_MAX, HttpRequest, HttpResponse, HttpTransport, Method, TransportError};

/// The name of this program in its requests.
pub(crate) const USER_AGENT: &str = concat!("entraclaw/", env!("CARGO_PKG_VERSION"));
/// The most characters of a foreign message that are kept.
const MESSAGE_CHARS_MAX: usize = 200;

/// Sends a request, and waits only so long for its answer.
pub(crate) async fn send_within(
    transport: &dyn HttpTransport,
    request: HttpRequest,
    limit: Duration,
) -> Result<HttpResponse, TransportError> {
    let url = request.url.clone();
    tokio::time::timeout(limit, transport.send(request)).await.unwrap_or_else(|_| {
        let host =
            Url::parse(&url).map_or_else(|_| "a URL that is none".to_owned(), |url| host_and_port(&url));
        Err(TransportError::Broken { host, reason: format!("none came within {} ms", limit.as_millis()) })
    })
}

/// Turns a foreign text into one short line without control characters.
pub(crate) fn one_line(text: &str) -> String {
    let mut line: String = text
        .chars()
        .take(MESSAGE_CHARS_MAX)
        .map(|c| if c.is_control() || ('\u{2028}'..='\u{202e}').contains(&c) { ' ' } else { c })
        .collect();
    if text.chars().nth(MESSAGE_CHARS_MAX).is_some() {
        line.push('…');
    }
    line.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_stays_one_short_line() {
        let line = one_line(&format!("\u{1b}[31mred\n\u{202e}{}", "x".repeat(500)));
        assert!(!line.contains(char::is_control) && line.chars().count() <= MESSAGE_CHARS_MAX + 1);
    }
}
