//! The production transport: reqwest, without a proxy, a redirect or a kept connection; only this file uses the crate.

use std::error::Error as _;
use std::sync::OnceLock;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream;

use super::{Method, Reply, Request, Transport, TransportError};

/// How long making a connection may take. The server is on this machine, or near.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// HTTP by reqwest. The client is made at the first request.
#[derive(Debug, Default)]
pub struct ReqwestTransport {
    client: OnceLock<Result<reqwest::Client, String>>,
}

impl ReqwestTransport {
    /// A transport.
    pub fn new() -> Self {
        Self::default()
    }

    fn client(&self) -> Result<&reqwest::Client, TransportError> {
        self.client.get_or_init(build).as_ref().map_err(|reason| TransportError::Connect(reason.clone()))
    }
}

fn build() -> Result<reqwest::Client, String> {
    // An error means that a provider is already installed, and that one works too.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT_TIMEOUT)
        // A kept connection can be dead when the server was restarted; a new one on this machine costs nothing.
        .pool_max_idle_per_host(0)
        .no_proxy()
        .build()
        .map_err(|error| explain(&error))
}

impl Transport for ReqwestTransport {
    fn send(&self, request: Request) -> BoxFuture<'_, Result<Reply, TransportError>> {
        Box::pin(async move {
            let method = match request.method {
                Method::Get => reqwest::Method::GET,
                Method::Post => reqwest::Method::POST,
            };
            let mut builder = self.client()?.request(method, &request.url);
            for (name, value) in &request.headers {
                builder = builder.header(name, value);
            }
            if let Some(body) = request.body {
                builder = builder.body(body);
            }
            let response = builder.send().await.map_err(|error| failure(&error))?;
            let status = response.status().as_u16();
            let body = stream::try_unfold(response, |mut response| async move {
                let chunk = response.chunk().await.map_err(|error| failure(&error))?;
                Ok(chunk.map(|chunk| (chunk.to_vec(), response)))
            });
            Ok(Reply { status, body: body.boxed() })
        })
    }
}

fn failure(error: &reqwest::Error) -> TransportError {
    let reason = explain(error);
    if error.is_connect() || error.is_builder() {
        TransportError::Connect(reason)
    } else {
        TransportError::Broken(reason)
    }
}

/// The innermost reason, which is the system's message; reqwest's own messages repeat the URL.
fn explain(error: &reqwest::Error) -> String {
    let mut reason = None;
    let mut source = error.source();
    while let Some(inner) = source {
        reason = Some(inner.to_string());
        source = inner.source();
    }
    reason.unwrap_or_else(|| {
        let text = if error.is_timeout() { "the time was up" } else { "the request could not be made" };
        text.to_owned()
    })
}
