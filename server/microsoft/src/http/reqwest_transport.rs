//! The production transport: reqwest over rustls; only this file uses the crate.
//! It must never follow a redirect, keep a cookie, or use resources before the first request.

use std::error::Error as _;
use std::sync::OnceLock;
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::{
    BODY_BYTES_MAX, HttpRequest, HttpResponse, HttpTransport, Method, TransportError, host_and_port,
};

/// How long making a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long an unused connection is kept.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// How many unused connections are kept.
const IDLE_CONNECTIONS_MAX: usize = 4;

/// HTTP by reqwest. The client, its TLS provider and the root certificates are created at the first request.
#[derive(Debug)]
pub struct ReqwestTransport {
    loopback: bool,
    client: OnceLock<Result<reqwest::Client, String>>,
}

impl ReqwestTransport {
    /// A transport; `loopback` says that the server is on this machine, so that no proxy is used.
    pub fn new(loopback: bool) -> Self {
        Self { loopback, client: OnceLock::new() }
    }

    fn client(&self) -> Result<&reqwest::Client, String> {
        self.client.get_or_init(|| build(self.loopback)).as_ref().map_err(Clone::clone)
    }
}

fn build(loopback: bool) -> Result<reqwest::Client, String> {
    // An error means that a provider is already installed, and that one works too.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(IDLE_TIMEOUT)
        .pool_max_idle_per_host(IDLE_CONNECTIONS_MAX)
        .gzip(true);
    if loopback {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| explain(&error))
}

impl HttpTransport for ReqwestTransport {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportError>> {
        Box::pin(async move {
            let url = reqwest::Url::parse(&request.url);
            let host = url.as_ref().map_or_else(|_| "a URL that is none".to_owned(), host_and_port);
            let connect = |reason: String| TransportError::Connect { host: host.clone(), reason };
            let url = url.map_err(|error| connect(error.to_string()))?;
            let client = self.client().map_err(connect)?;
            let method = match request.method {
                Method::Get => reqwest::Method::GET,
                Method::Post => reqwest::Method::POST,
                Method::Patch => reqwest::Method::PATCH,
            };
            let mut builder = client.request(method, url);
            for (name, value) in &request.headers {
                builder = builder.header(name, value);
            }
            if let Some(body) = request.body {
                builder = builder.body(body);
            }
            let failed = |error: reqwest::Error| {
                let (host, reason) = (host.clone(), explain(&error));
                if error.is_connect() || error.is_builder() {
                    TransportError::Connect { host, reason }
                } else {
                    TransportError::Broken { host, reason }
                }
            };
            let mut response = builder.send().await.map_err(failed)?;
            let status = response.status().as_u16();
            let headers = response
                .headers()
                .iter()
                .map(|(name, value)| {
                    (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
                })
                .collect();
            let mut body = Vec::new();
            while let Some(chunk) = response.chunk().await.map_err(failed)? {
                body.extend_from_slice(&chunk);
                if body.len() > BODY_BYTES_MAX {
                    break;
                }
            }
            Ok(HttpResponse { status, headers, body })
        })
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
        if error.is_timeout() {
            "the time was up".to_owned()
        } else {
            "the request could not be made".to_owned()
        }
    })
}
