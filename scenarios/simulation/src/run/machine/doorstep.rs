//! The hosts' doors on a real machine: a command, a port and a file, through which whoever knocks reaches the bell of a session.
//!
//! It must never judge what comes; the bell answers as the host would.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::Duration;

use entraclaw_inbox::knock::{HttpMethod, KnockError, KnockRequest};
use fake_hosts::settings::OpenDoor;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};

use super::super::bell::Bell;

/// Between two looks at a folder or a file.
const LOOK: Duration = Duration::from_millis(20);
/// Largest body that is taken, in bytes.
const BODY_BYTES_MAX: usize = 1024 * 1024;
/// Connections at once.
const CONNECTIONS_MAX: usize = 16;
/// How the files of a started program end.
const CALL: &str = "call";

/// What stands before the door of a session, until it is dropped.
pub(super) async fn attend(door: OpenDoor, spool: PathBuf, bell: Bell, now_ms: impl Fn() -> i64) {
    match door {
        OpenDoor::QueueCommand => queue(&spool, &bell, now_ms).await,
        OpenDoor::Port(port) => listen(port, &bell, &now_ms).await,
        OpenDoor::InputFile(path) => read_on(&path, &bell, now_ms).await,
        // It is run beside the session, by the words in it.
        OpenDoor::Extension(_) => {}
    }
}

/// Every call that was left in the spool, taken away: the program's name and its words.
#[expect(clippy::disallowed_methods, reason = "the programs of the machine leave real files")]
pub(super) fn calls(spool: &Path) -> Vec<Vec<String>> {
    let Ok(entries) = std::fs::read_dir(spool) else { return Vec::new() };
    let is_call = |path: &PathBuf| path.extension().is_some_and(|ending| ending == CALL);
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_call).collect();
    paths.sort();
    let mut calls = Vec::new();
    for path in paths {
        let Ok(bytes) = std::fs::read(&path) else { continue };
        let text = String::from_utf8_lossy(&bytes);
        calls.push(text.split_terminator('\0').map(str::to_owned).collect());
        // One that stays would come a second time, which the oracle sees.
        let _ = std::fs::remove_file(&path);
    }
    calls
}

async fn queue(spool: &Path, bell: &Bell, now_ms: impl Fn() -> i64) {
    loop {
        for call in calls(spool) {
            if let Some((program, arguments)) = call.split_first() {
                let (program, arguments) = (program.clone(), arguments.to_vec());
                // The program has ended already; what it could not do is not told to whoever ran it.
                let _ = bell.answer(&KnockRequest::Run { program, arguments }, now_ms());
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}

#[expect(clippy::disallowed_methods, reason = "the host reads a real file on")]
async fn read_on(path: &str, bell: &Bell, now_ms: impl Fn() -> i64) {
    let length = |path: &str| std::fs::read(path).map_or(0, |bytes| bytes.len());
    let mut seen = length(path);
    loop {
        tokio::time::sleep(LOOK).await;
        let bytes = std::fs::read(path).unwrap_or_default();
        let new = bytes.get(seen..).unwrap_or_default();
        let Some(end) = new.iter().rposition(|byte| *byte == b'\n') else { continue };
        for line in String::from_utf8_lossy(&new[..end]).lines() {
            let request = KnockRequest::Append { path: path.to_owned(), line: line.to_owned() };
            let _ = bell.answer(&request, now_ms());
        }
        seen += end + 1;
    }
}

async fn listen(port: u16, bell: &Bell, now_ms: &impl Fn() -> i64) {
    let Ok(listener) = TcpListener::bind(("127.0.0.1", port)).await else { return };
    let mut connections = FuturesUnordered::new();
    loop {
        tokio::select! {
            biased;
            Some(()) = connections.next(), if !connections.is_empty() => {}
            accepted = listener.accept(), if connections.len() < CONNECTIONS_MAX => {
                if let Ok((stream, _)) = accepted {
                    connections.push(connection(stream, port, bell, now_ms));
                }
            }
        }
    }
}

async fn connection(stream: TcpStream, port: u16, bell: &Bell, now_ms: &impl Fn() -> i64) {
    let service = service_fn(|request| exchange(request, port, bell, now_ms()));
    let serving = http1::Builder::new().keep_alive(false).serve_connection(TokioIo::new(stream), service);
    // A client that breaks off has nothing to be told.
    let _ = serving.await;
}

async fn exchange(
    request: Request<Incoming>,
    port: u16,
    bell: &Bell,
    now_ms: i64,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let method = if head.method == Method::GET { HttpMethod::Get } else { HttpMethod::Post };
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let body = Limited::new(body, BODY_BYTES_MAX).collect().await;
    let body = body.ok().and_then(|body| String::from_utf8(body.to_bytes().to_vec()).ok());
    let request = KnockRequest::Http { method, port, path, body, password: None };
    let (status, body) = match bell.answer(&request, now_ms) {
        Ok(answer) if method == HttpMethod::Get => (StatusCode::OK, answer.body),
        Ok(_) => (StatusCode::NO_CONTENT, Vec::new()),
        Err(KnockError::Status { status, .. }) => {
            (StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST), Vec::new())
        }
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, Vec::new()),
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    Ok(response)
}
