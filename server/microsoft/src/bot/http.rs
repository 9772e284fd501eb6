//! The production endpoint: hyper serves HTTP/1.1 on one loopback socket, inside the caller's future.
//! It must never spawn a task, listen beyond this machine, or let a slow or greedy client hold more than its
//! share.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
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
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use super::endpoint::{BOT_BODY_BYTES_MAX, BotReply, BotRequest, Endpoint, Reception};

/// The most bytes of request line and headers.
const HEAD_BYTES_MAX: usize = 32 * 1024;
/// The most headers of one request.
const HEADERS_MAX: usize = 64;
/// Pause after the system could not accept a connection, for example without free descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// The limits for connections.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    /// The most connections at once. A further one closes the oldest that has not sent its whole request;
    /// while there is none, it waits in the system's queue.
    connections_max: usize,
    /// How long a new connection can't be closed for another: an honest client sends its request at once.
    undisturbed: Duration,
    /// How long a client may take for its request line and headers.
    head_time_max: Duration,
    /// How long a client may take for its body; before it is complete, the client can't be told from a
    /// hostile one.
    body_time_max: Duration,
    /// How long one connection, which carries one request, may take in all.
    connection_time_max: Duration,
}

const BOUNDS: Bounds = Bounds {
    connections_max: 64,
    undisturbed: Duration::from_millis(250),
    head_time_max: Duration::from_secs(5),
    body_time_max: Duration::from_secs(3),
    connection_time_max: Duration::from_secs(20),
};

/// The endpoint that serves HTTP on a socket.
#[derive(Debug, Clone, Copy, Default)]
pub struct HttpEndpoint;

impl Endpoint for HttpEndpoint {
    fn serve<'a>(
        &'a self,
        address: SocketAddr,
        reception: &'a dyn Reception,
    ) -> LocalBoxFuture<'a, io::Error> {
        Box::pin(async move {
            // The configuration has refused such an address already; this check holds whatever the caller
            // did.
            if !address.ip().is_loopback() {
                let what = format!("{address} is not on this machine");
                return io::Error::new(io::ErrorKind::InvalidInput, what);
            }
            let listener = match TcpListener::bind(address).await {
                Ok(listener) => listener,
                Err(error) => return error,
            };
            reception.listening();
            accept(&listener, reception, BOUNDS).await
        })
    }
}

/// The connections whose whole request has not come yet, in the order in which they came.
#[derive(Default)]
struct Idle {
    next: Cell<u64>,
    waiting: RefCell<BTreeMap<u64, (Instant, oneshot::Sender<()>)>>,
}

impl Idle {
    /// Adds a connection. Until [`Idle::leave`], it must end when the receiver gets a message.
    fn come(&self) -> (u64, oneshot::Receiver<()>) {
        let number = self.next.get();
        self.next.set(number + 1);
        let (gives_way, must_go) = oneshot::channel();
        self.waiting.borrow_mut().insert(number, (Instant::now(), gives_way));
        (number, must_go)
    }

    /// Removes a connection, because its request is complete or it has ended.
    fn leave(&self, number: u64) {
        self.waiting.borrow_mut().remove(&number);
    }

    fn oldest_since(&self) -> Option<Instant> {
        self.waiting.borrow().first_key_value().map(|(_, (since, _))| *since)
    }

    /// Makes the oldest connection end.
    fn push_out(&self) {
        if let Some((_, (_, gives_way))) = self.waiting.borrow_mut().pop_first() {
            // The connection may have ended by itself.
            let _ = gives_way.send(());
        }
    }
}

async fn accept(listener: &TcpListener, reception: &dyn Reception, bounds: Bounds) -> io::Error {
    let idle = Idle::default();
    let mut connections = FuturesUnordered::new();
    loop {
        let is_full = connections.len() >= bounds.connections_max;
        let room_at = if is_full {
            idle.oldest_since().map(|since| since + bounds.undisturbed)
        } else {
            Some(Instant::now())
        };
        let next = async {
            match room_at {
                Some(at) => sleep_until(at).await,
                None => std::future::pending().await,
            }
            listener.accept().await
        };
        tokio::select! {
            biased;
            Some(()) = connections.next(), if !connections.is_empty() => {}
            accepted = next => match accepted {
                Ok((stream, _)) => {
                    if is_full {
                        idle.push_out();
                    }
                    connections.push(connection(stream, reception, &idle, bounds));
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection of the bot endpoint could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
}

async fn connection(stream: TcpStream, reception: &dyn Reception, idle: &Idle, bounds: Bounds) {
    let (number, must_go) = idle.come();
    let service = service_fn(|request| answer(request, reception, idle, number, bounds.body_time_max));
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(bounds.head_time_max)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    let serving = tokio::time::timeout(bounds.connection_time_max, serving);
    let pushed_out = async {
        if must_go.await.is_err() {
            // The connection is out of the list, so it is served to its end.
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        biased;
        served = serving => {
            if let Ok(Err(error)) = served {
                tracing::debug!(%error, "a connection of the bot endpoint broke");
            }
        }
        () = pushed_out => {
            tracing::debug!("a connection of the bot endpoint that said nothing gives way to another one");
        }
    }
    idle.leave(number);
}

async fn answer(
    request: Request<Incoming>,
    reception: &dyn Reception,
    idle: &Idle,
    number: u64,
    body_time_max: Duration,
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
    match tokio::time::timeout(body_time_max, Limited::new(body, BOT_BODY_BYTES_MAX).collect()).await {
        Ok(Ok(body)) => taken.body = body.to_bytes().to_vec(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => taken.oversized = true,
        Ok(Err(_)) => return Ok(response(&BotReply::status(400))),
        Err(_) => return Ok(response(&BotReply::status(408))),
    }
    idle.leave(number);
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

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    /// A time so long that it does not pass while a test runs.
    const FOR_EVER: Duration = Duration::from_secs(86_400);
    /// The time after which a test that would never end fails.
    const GIVE_UP: Duration = Duration::from_secs(120);

    struct Polite;

    impl Reception for Polite {
        fn listening(&self) {}

        fn receive(&self, _: BotRequest) -> LocalBoxFuture<'_, BotReply> {
            Box::pin(async { BotReply::status(200) })
        }
    }

    async fn ask(address: SocketAddr) -> String {
        let mut honest = TcpStream::connect(address).await.unwrap();
        let request = b"POST /api/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}";
        honest.write_all(request).await.unwrap();
        let mut answer = String::new();
        honest.read_to_string(&mut answer).await.unwrap();
        answer
    }

    /// A client that only holds a connection, silent or with half a request, does not keep others out for
    /// long.
    #[tokio::test]
    async fn silent_connections_give_way_to_new_ones() {
        let bounds = Bounds {
            head_time_max: FOR_EVER,
            body_time_max: FOR_EVER,
            connection_time_max: FOR_EVER,
            ..BOUNDS
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let scene = async {
            let mut crowd = Vec::new();
            for n in 0..160 {
                let mut idle = TcpStream::connect(address).await.unwrap();
                if n % 2 == 0 {
                    let half = b"POST /api/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n";
                    idle.write_all(half).await.unwrap();
                }
                crowd.push(idle);
            }
            let answer = ask(address).await;
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
            let newest = crowd.last_mut().unwrap();
            let nothing = newest.try_read(&mut [0; 1]).unwrap_err();
            assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock, "who came last still has the place");
        };
        tokio::select! {
            error = accept(&listener, &Polite, bounds) => panic!("{error}"),
            done = tokio::time::timeout(GIVE_UP, scene) => done.expect("the honest request is answered"),
        }
    }
}
