//! The fake model server without a socket. It must never answer while it is away.

use std::sync::atomic::{AtomicBool, Ordering};

use entraclaw_models::{Method, Reply, Request, Transport, TransportError};
use fake_models::{Seen, Server};
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use tokio::time::Instant;

/// Where it listens.
pub(super) const ROOT: &str = "http://127.0.0.1:9";

/// The server, as the engine's clients reach it.
pub(super) struct Mounted {
    server: Server,
    is_away: AtomicBool,
    began: Instant,
}

impl Mounted {
    /// A server that is there.
    pub(super) fn new(script: fake_models::Script) -> Self {
        Self { server: Server::new(script), is_away: AtomicBool::new(false), began: Instant::now() }
    }

    pub(super) fn set_away(&self, is_away: bool) {
        self.is_away.store(is_away, Ordering::Relaxed);
    }

    pub(super) fn questions(&self) -> Vec<Seen> {
        self.server.questions()
    }

    /// The time of the server's clock, in milliseconds.
    pub(super) fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

impl Transport for Mounted {
    fn send(&self, request: Request) -> BoxFuture<'_, Result<Reply, TransportError>> {
        Box::pin(async move {
            let path = request.url.strip_prefix(ROOT).filter(|_| !self.is_away.load(Ordering::Relaxed));
            let Some(path) = path.map(str::to_owned) else {
                return Err(TransportError::Connect("connection refused".to_owned()));
            };
            let method = if request.method == Method::Get { "GET" } else { "POST" }.to_owned();
            let body = request.body.unwrap_or_default();
            let answer = self.server.ask(fake_models::Request { method, path, body }).await;
            let body =
                answer.body.map(|chunk| chunk.map_err(|error| TransportError::Broken(error.to_string())));
            Ok(Reply { status: answer.status, body: body.boxed() })
        })
    }
}
