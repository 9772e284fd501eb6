//! A fake server on a loopback port.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;

use futures_util::StreamExt as _;
use http_body_util::{BodyExt as _, Limited, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::generation::{Body, Dropped};
use crate::server::{Request, Server};

/// The longest body of a request.
const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// A server that listens. When it is dropped it is gone, with all its connections.
#[derive(Debug)]
pub struct Listening {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Listening {
    /// Where.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its root.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Listens on a free port of this machine.
pub async fn listen(server: &Server) -> io::Result<Listening> {
    listen_at(server, 0).await
}

/// Listens on this port of this machine, as one does that is started again; 0 is a free one.
pub async fn listen_at(server: &Server, port: u16) -> io::Result<Listening> {
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    let address = listener.local_addr()?;
    let server = server.clone();
    let task = tokio::spawn(async move {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                biased;
                accepted = listener.accept() => {
                    if let Ok((stream, _)) = accepted {
                        connections.spawn(serve(server.clone(), stream));
                    }
                }
                Some(_) = connections.join_next() => {}
            }
        }
    });
    Ok(Listening { address, task })
}

async fn serve(server: Server, stream: TcpStream) {
    let service = service_fn(move |request| answer(server.clone(), request));
    // A broken connection is what some scripts want.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

type Frames = StreamBody<futures_util::stream::BoxStream<'static, Result<Frame<Bytes>, Dropped>>>;

async fn answer(
    server: Server,
    request: hyper::Request<Incoming>,
) -> Result<hyper::Response<Frames>, Infallible> {
    let method = request.method().as_str().to_owned();
    let path = request.uri().path_and_query().map_or_else(String::new, ToString::to_string);
    let read = Limited::new(request.into_body(), BODY_BYTES_MAX).collect().await;
    let body = read.map(|body| body.to_bytes().to_vec()).unwrap_or_default();
    let answer = server.ask(Request { method, path, body }).await;
    let mut response = hyper::Response::new(frames(answer.body));
    *response.status_mut() = hyper::StatusCode::from_u16(answer.status).unwrap_or_default();
    let kind = hyper::header::HeaderValue::from_static(answer.content_type);
    response.headers_mut().insert(hyper::header::CONTENT_TYPE, kind);
    Ok(response)
}

fn frames(body: Body) -> Frames {
    StreamBody::new(body.map(|chunk| chunk.map(|bytes| Frame::data(Bytes::from(bytes)))).boxed())
}
