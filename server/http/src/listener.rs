//! Serves sockets: HTTP/1.1 at one path, for who has the token.
//!
//! It must never let a slow client hold more than its own connection, nor read a body before the token was seen.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderValue, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::bridge::Bridge;
use crate::entry::Entry;
use crate::links::{LINKS_MAX, Links, Pipe};

/// The path of the server.
pub const PATH: &str = "/mcp";
/// Most connections of clients at once; a further one waits in the system's queue. Each session may hold a stream and
/// send requests beside it.
const CONNECTIONS_MAX: usize = 4 * LINKS_MAX;
/// How long a client may take for its request line and headers.
const HEAD_TIME_MAX: Duration = Duration::from_secs(10);
/// Most bytes of request line and headers.
const HEAD_BYTES_MAX: usize = 32 * 1024;
/// Pause after the system could not accept a connection, for example without free descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);
/// How long a session of the older protocol may be idle.
const SESSION_IDLE_MAX: Duration = Duration::from_secs(3_600);

type Service = StreamableHttpService<Bridge, LocalSessionManager>;

/// Serves clients until the returned future is dropped. `connects` serves the other end of each connection, as if a host
/// had opened it over stdio.
pub async fn serve(
    listener: TcpListener,
    entry: Entry,
    mut connects: impl FnMut(Pipe) -> LocalBoxFuture<'static, ()>,
) -> Infallible {
    let (ends, mut opened) = mpsc::channel(1);
    let links = Arc::new(Links::new(ends));
    let own = listener.local_addr().map(own_origins).unwrap_or_default();
    let service = service(links, &entry, own);
    let mut clients = FuturesUnordered::new();
    let mut connections = FuturesUnordered::new();
    loop {
        tokio::select! {
            biased;
            Some(end) = opened.recv() => connections.push(connects(end)),
            Some(()) = connections.next(), if !connections.is_empty() => {}
            Some(()) = clients.next(), if !clients.is_empty() => {}
            stream = accept(&listener), if clients.len() < CONNECTIONS_MAX => {
                clients.extend(stream.map(|stream| client(stream, &service, &entry)));
            }
        }
    }
}

/// The next client; `None` after a pause, if it could not be accepted.
async fn accept(listener: &TcpListener) -> Option<TcpStream> {
    match listener.accept().await {
        Ok((stream, _)) => Some(stream),
        Err(error) => {
            tracing::warn!(%error, "a connection over HTTP could not be accepted");
            sleep(ACCEPT_PAUSE).await;
            None
        }
    }
}

/// The origins that the server itself has on this machine. No page is served there, so what names one is a program.
fn own_origins(address: SocketAddr) -> Vec<String> {
    let names = ["127.0.0.1", "localhost", "[::1]"];
    let names = names.into_iter().filter(|_| address.ip().is_loopback());
    names.map(|name| format!("http://{name}:{}", address.port())).collect()
}

fn service(links: Arc<Links>, entry: &Entry, own_origins: Vec<String>) -> Service {
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(SESSION_IDLE_MAX);
    let mut config = StreamableHttpServerConfig::default()
        .with_allowed_origins(entry.origins.iter().cloned().chain(own_origins))
        .enforce_origin_validation();
    config.allowed_hosts.extend(entry.hosts.iter().cloned());
    StreamableHttpService::new(move || Ok(Bridge::new(links.clone())), Arc::new(sessions), config)
}

async fn client(stream: TcpStream, service: &Service, entry: &Entry) {
    let answers = service_fn(|request| async { Ok::<_, Infallible>(answer(request, service, entry).await) });
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME_MAX).max_buf_size(HEAD_BYTES_MAX);
    if let Err(error) = server.serve_connection(TokioIo::new(stream), answers).await {
        tracing::debug!(%error, "a connection over HTTP has ended");
    }
}

async fn answer(
    request: Request<Incoming>,
    service: &Service,
    entry: &Entry,
) -> Response<BoxBody<Bytes, Infallible>> {
    if !entry.lets_in(request.headers()) {
        let mut refused = said(StatusCode::UNAUTHORIZED, "the bearer token is missing or wrong\n");
        refused.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        return refused;
    }
    if request.uri().path() != PATH {
        return said(StatusCode::NOT_FOUND, "there is only /mcp here\n");
    }
    service.handle(request).await
}

fn said(status: StatusCode, text: &'static str) -> Response<BoxBody<Bytes, Infallible>> {
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())).boxed());
    *response.status_mut() = status;
    response
}
