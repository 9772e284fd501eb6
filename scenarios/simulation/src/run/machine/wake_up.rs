//! The hosts' wake-ups on a real machine: a command, a port and a file, by which a server wakes the host of a session.
//!
//! It must never judge what comes; the target answers as the host would.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::Duration;

use entraclaw_inbox::wake_up::{HttpMethod, WakeUpError, WakeUpRequest};
use fake_hosts::settings::OpenWakeUp;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};

use super::super::wake_up_target::WakeUpTarget;
use crate::accept::accept;

/// Between two looks at a folder or a file.
const LOOK: Duration = Duration::from_millis(20);
/// Largest body that is taken, in bytes.
const BODY_BYTES_MAX: usize = 1024 * 1024;
/// Connections at once.
const CONNECTIONS_MAX: usize = 16;
/// The ending of the file that a started program leaves.
const CALL: &str = "call";

/// Serves the wake-up of a session until the future is dropped.
pub(super) async fn attend(
    wake_up: OpenWakeUp,
    spool: PathBuf,
    target: WakeUpTarget,
    now_ms: impl Fn() -> i64,
) {
    match wake_up {
        OpenWakeUp::QueueCommand => queue(&spool, &target, now_ms).await,
        OpenWakeUp::Port(port) => listen(port, &target, &now_ms).await,
        OpenWakeUp::InputFile(path) => read_on(&path, &target, now_ms).await,
        // It is run beside the session, by the words in it.
        OpenWakeUp::Extension(_) => {}
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

async fn queue(spool: &Path, target: &WakeUpTarget, now_ms: impl Fn() -> i64) {
    loop {
        for call in calls(spool) {
            if let Some((program, arguments)) = call.split_first() {
                let (program, arguments) = (program.clone(), arguments.to_vec());
                // The program has ended already, so its caller is not told of a failure.
                let _ = target.answer(&WakeUpRequest::Run { program, arguments }, now_ms());
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}

#[expect(clippy::disallowed_methods, reason = "the host reads a real file on")]
async fn read_on(path: &str, target: &WakeUpTarget, now_ms: impl Fn() -> i64) {
    let length = |path: &str| std::fs::read(path).map_or(0, |bytes| bytes.len());
    let mut seen = length(path);
    loop {
        tokio::time::sleep(LOOK).await;
        let bytes = std::fs::read(path).unwrap_or_default();
        let new = bytes.get(seen..).unwrap_or_default();
        let Some(end) = new.iter().rposition(|byte| *byte == b'\n') else { continue };
        for line in String::from_utf8_lossy(&new[..end]).lines() {
            let request = WakeUpRequest::Append { path: path.to_owned(), line: line.to_owned() };
            let _ = target.answer(&request, now_ms());
        }
        seen += end + 1;
    }
}

async fn listen(port: u16, target: &WakeUpTarget, now_ms: &impl Fn() -> i64) {
    let Ok(listener) = TcpListener::bind(("127.0.0.1", port)).await else { return };
    accept(listener, CONNECTIONS_MAX, |stream| connection(stream, port, target, now_ms)).await;
}

async fn connection(stream: TcpStream, port: u16, target: &WakeUpTarget, now_ms: &impl Fn() -> i64) {
    let service = service_fn(|request| exchange(request, port, target, now_ms()));
    let serving = http1::Builder::new().keep_alive(false).serve_connection(TokioIo::new(stream), service);
    // A client that breaks off has nothing to be told.
    let _ = serving.await;
}

async fn exchange(
    request: Request<Incoming>,
    port: u16,
    target: &WakeUpTarget,
    now_ms: i64,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let method = if head.method == Method::GET { HttpMethod::Get } else { HttpMethod::Post };
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let body = Limited::new(body, BODY_BYTES_MAX).collect().await;
    let body = body.ok().and_then(|body| String::from_utf8(body.to_bytes().to_vec()).ok());
    let request = WakeUpRequest::Http { method, port, path, body, password: None };
    let (status, body) = match target.answer(&request, now_ms) {
        Ok(answer) if method == HttpMethod::Get => (StatusCode::OK, answer.body),
        Ok(_) => (StatusCode::NO_CONTENT, Vec::new()),
        Err(WakeUpError::Status { status, .. }) => {
            (StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST), Vec::new())
        }
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, Vec::new()),
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    Ok(response)
}
