//! The production endpoint: HTTP/1.1 by hyper on one loopback socket, inside the caller's future.
//! It must never spawn anything, listen beyond this machine, or let a slow or greedy client hold more than its share.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;
use http_body_util::{BodyExt as _, Empty, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};

use super::endpoint::{BOT_BODY_BYTES_MAX, BotReply, BotRequest, Endpoint, Reception};

/// Connections at once; further ones wait in the system's queue.
const CONNECTIONS_MAX: usize = 32;
/// How long a client may take for its request line and headers.
const HEAD_TIME_MAX: Duration = Duration::from_secs(5);
/// How long a client may take for its body; until it is there, nobody is known to deserve the place.
const BODY_TIME_MAX: Duration = Duration::from_secs(3);
/// How long one connection may take in all; each carries one request.
const CONNECTION_TIME_MAX: Duration = Duration::from_secs(20);
/// Room for request line and headers, in bytes.
const HEAD_BYTES_MAX: usize = 32 * 1024;
/// Headers of one request.
const HEADERS_MAX: usize = 64;
/// Pause after the system could not accept, such as without free descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// HTTP on a socket.
#[derive(Debug, Clone, Copy, Default)]
pub struct HttpEndpoint;

impl Endpoint for HttpEndpoint {
    fn serve<'a>(
        &'a self,
        address: SocketAddr,
        reception: &'a dyn Reception,
    ) -> LocalBoxFuture<'a, io::Error> {
        Box::pin(async move {
            // The configuration has refused it already; here nothing can get past.
            if !address.ip().is_loopback() {
                let what = format!("{address} is not on this machine");
                return io::Error::new(io::ErrorKind::InvalidInput, what);
            }
            let listener = match TcpListener::bind(address).await {
                Ok(listener) => listener,
                Err(error) => return error,
            };
            reception.listening();
            accept(&listener, reception).await
        })
    }
}

async fn accept(listener: &TcpListener, reception: &dyn Reception) -> io::Error {
    let mut connections = FuturesUnordered::new();
    loop {
        tokio::select! {
            biased;
            Some(()) = connections.next(), if !connections.is_empty() => {}
            accepted = listener.accept(), if connections.len() < CONNECTIONS_MAX => match accepted {
                Ok((stream, _)) => connections.push(connection(stream, reception)),
                Err(error) => {
                    tracing::warn!(%error, "a connection of the bot endpoint could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
}

async fn connection(stream: TcpStream, reception: &dyn Reception) {
    let service = service_fn(|request| answer(request, reception));
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    if let Ok(Err(error)) = tokio::time::timeout(CONNECTION_TIME_MAX, serving).await {
        tracing::debug!(%error, "a connection of the bot endpoint broke");
    }
}

async fn answer(
    request: Request<Incoming>,
    reception: &dyn Reception,
) -> Result<Response<Empty<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let headers = head
        .headers
        .iter()
        .map(|(name, value)| {
            (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        })
        .collect();
    let mut taken = BotRequest {
        method: head.method.as_str().to_owned(),
        path: head.uri.path().to_owned(),
        headers,
        ..BotRequest::default()
    };
    match tokio::time::timeout(BODY_TIME_MAX, Limited::new(body, BOT_BODY_BYTES_MAX).collect()).await {
        Ok(Ok(body)) => taken.body = body.to_bytes().to_vec(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => taken.oversized = true,
        Ok(Err(_)) => return Ok(response(&BotReply::status(400))),
        Err(_) => return Ok(response(&BotReply::status(408))),
    }
    Ok(response(&reception.receive(taken).await))
}

fn response(reply: &BotReply) -> Response<Empty<Bytes>> {
    let mut response = Response::new(Empty::new());
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if let Some((name, value)) = reply.header {
        response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}
