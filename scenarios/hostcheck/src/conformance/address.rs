//! A server behind an address, with the headers that its user gave. It sends nothing, and never prints a header's value.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

/// Headers that belong to the transport, request by request.
const OWN_HEADERS: [&str; 10] = [
    "accept",
    "connection",
    "content-length",
    "content-type",
    "host",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    "origin",
];

/// A server behind an address.
#[derive(Clone)]
pub struct Address {
    pub(super) url: String,
    /// Headers that go with every request. Their values are never printed.
    pub(super) headers: HeaderMap,
}

impl Address {
    /// An address, and the headers that go with every request to it.
    ///
    /// # Errors
    /// If a header is not valid, or is one that this program sets itself.
    pub fn new(url: String, headers: &[(String, String)]) -> anyhow::Result<Self> {
        let mut all = HeaderMap::new();
        for (name, value) in headers {
            let known: HeaderName =
                name.parse().map_err(|_| anyhow::anyhow!("{name:?} is no name of an HTTP header"))?;
            anyhow::ensure!(
                !OWN_HEADERS.contains(&known.as_str()),
                "the header {name} is set by hostcheck itself, request by request; leave it out"
            );
            // The error of the value would say nothing of it either, since it may be secret.
            let mut value: HeaderValue = value.parse().map_err(|_| {
                anyhow::anyhow!("the value of the header {name} has characters that no header may have")
            })?;
            value.set_sensitive(true);
            all.append(known, value);
        }
        Ok(Self { url, headers: all })
    }

    /// The address itself.
    pub fn url(&self) -> &str {
        &self.url
    }
}
