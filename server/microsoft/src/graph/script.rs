//! A transport for unit tests: a closure answers each request, after a delay in virtual time.
//! It must never decide anything itself, so that every test shows its whole Graph.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::Instant;

use super::{GraphClient, GraphParts, Origin};
use crate::entra::{StaticToken, TokenSource};
use crate::http::{HttpRequest, HttpResponse, HttpTransport, TransportError};
use entraclaw_seams::clock::{Clock, TokioClock};
use entraclaw_seams::random::SplitMix;
use entraclaw_seams::secret::Secret;

/// What a request gets.
pub struct Reply {
    pub after: Duration,
    pub outcome: Result<HttpResponse, TransportError>,
}

impl Reply {
    pub fn json(status: u16, body: &serde_json::Value) -> Self {
        Self::raw(status, body.to_string())
    }

    pub fn raw(status: u16, body: impl Into<Vec<u8>>) -> Self {
        let outcome = Ok(HttpResponse { status, headers: Vec::new(), body: body.into() });
        Self { after: Duration::ZERO, outcome }
    }

    pub fn error(status: u16, code: &str) -> Self {
        Self::json(status, &serde_json::json!({"error": {"code": code, "message": "because"}}))
    }

    pub fn broken() -> Self {
        let outcome = Err(TransportError::Broken { host: "graph".to_owned(), reason: "reset".to_owned() });
        Self { after: Duration::ZERO, outcome }
    }

    pub fn unreachable() -> Self {
        let outcome = Err(TransportError::Connect { host: "graph".to_owned(), reason: "refused".to_owned() });
        Self { after: Duration::ZERO, outcome }
    }

    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        if let Ok(response) = &mut self.outcome {
            response.headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    #[must_use]
    pub fn after(mut self, after: Duration) -> Self {
        self.after = after;
        self
    }
}

/// A request as it arrived, with the virtual time since the transport was made.
#[derive(Debug, Clone)]
pub struct Seen {
    pub at: Duration,
    pub request: HttpRequest,
}

impl Seen {
    /// Verb and path with query, without the origin.
    pub fn line(&self) -> String {
        let url = url::Url::parse(&self.request.url).unwrap();
        format!("{} {}", self.request.method.as_str(), &url[url::Position::BeforePath..])
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.request.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }
}

type Answer = Box<dyn FnMut(&Seen) -> Reply + Send>;

/// The transport.
pub struct Script {
    started: Instant,
    answer: Mutex<Answer>,
    seen: Mutex<Vec<Seen>>,
}

impl Script {
    pub fn new(answer: impl FnMut(&Seen) -> Reply + Send + 'static) -> Arc<Self> {
        Arc::new(Self {
            started: Instant::now(),
            answer: Mutex::new(Box::new(answer)),
            seen: Mutex::default(),
        })
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A client over this transport whose calendar starts at `2026-11-21T10:00:00Z`.
    pub fn client(self: &Arc<Self>) -> GraphClient {
        self.client_with(Arc::new(StaticToken(Secret::new("token-1"))))
    }

    pub fn client_with(self: &Arc<Self>, tokens: Arc<dyn TokenSource>) -> GraphClient {
        let epoch = "2026-11-21T10:00:00Z".parse().unwrap();
        self.client_of(tokens, Arc::new(TokioClock::starting_at(epoch)))
    }

    pub fn client_at(self: &Arc<Self>, clock: Arc<dyn Clock>) -> GraphClient {
        self.client_of(Arc::new(StaticToken(Secret::new("token-1"))), clock)
    }

    fn client_of(self: &Arc<Self>, tokens: Arc<dyn TokenSource>, clock: Arc<dyn Clock>) -> GraphClient {
        GraphClient::new(GraphParts {
            transport: self.clone(),
            tokens,
            clock,
            random: Arc::new(SplitMix::seeded(7)),
            origin: Origin::microsoft(),
            request_timeout: Duration::from_secs(20),
            chat_spacing: super::CHAT_SPACING,
        })
    }
}

impl HttpTransport for Script {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportError>> {
        Box::pin(async move {
            let seen = Seen { at: self.started.elapsed(), request };
            let reply = (self.answer.lock().unwrap_or_else(PoisonError::into_inner))(&seen);
            self.seen.lock().unwrap_or_else(PoisonError::into_inner).push(seen);
            tokio::time::sleep(reply.after).await;
            reply.outcome
        })
    }
}
