//! The sandbox's HTTP/1.1 on one loopback socket, by hyper, inside the caller's future.
//! It must never listen beyond this machine, nor read a body before its sender is let in.

use std::convert::Infallible;
use std::rc::Rc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{HOST, HeaderName, HeaderValue, ORIGIN};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};

use super::answer::{Answer, answer, refused};
use super::guard::{Asked, Refusal};
use super::{Control, page};
use crate::accept::accept;

/// Connections at once; further ones wait in the system's queue.
const CONNECTIONS_MAX: usize = 64;
/// The time limit for a request line and headers.
const HEAD_TIME_MAX: Duration = Duration::from_secs(5);
/// The time limit for a connection; each carries one request.
const CONNECTION_TIME_MAX: Duration = Duration::from_secs(20);
/// Room for request line and headers, in bytes.
const HEAD_BYTES_MAX: usize = 32 * 1024;
/// Largest body that is taken.
pub(super) const BODY_BYTES_MAX: usize = 128 * 1024;
/// The part of a larger body that is read and thrown away, so that its sender gets the answer.
const DISCARDED_BYTES_MAX: usize = 1024 * 1024;

/// Serves the page until it is dropped.
pub(crate) async fn serve(listener: TcpListener, control: Rc<Control>) {
    accept(listener, CONNECTIONS_MAX, |stream| connection(stream, Rc::clone(&control))).await;
}

async fn connection(stream: TcpStream, control: Rc<Control>) {
    let service = service_fn(|request| exchange(request, Rc::clone(&control)));
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    // A browser that goes away in the middle is no news.
    let _ = tokio::time::timeout(CONNECTION_TIME_MAX, serving).await;
}

async fn exchange(
    request: Request<Incoming>,
    control: Rc<Control>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let (hosts, origins) = (all(&head.headers, &HOST), all(&head.headers, &ORIGIN));
    let asked =
        Asked { method: head.method.as_str(), path: head.uri.path(), hosts: &hosts, origins: &origins };
    let rest = match control.guard.judge(&asked) {
        Ok(rest) => rest,
        Err(refusal) => return Ok(response(refused(&refusal))),
    };
    let answered = match taken(body).await {
        Ok(body) => {
            answer(&control, head.method == "POST", rest, head.uri.query().unwrap_or(""), &body).await
        }
        Err(refusal) => refused(&refusal),
    };
    Ok(response(answered))
}

fn all<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Vec<&'a str> {
    // A value that is no text is equal to none that counts.
    headers.get_all(name).iter().map(|value| value.to_str().unwrap_or("\u{fffd}")).collect()
}

/// A body within its bound.
async fn taken(mut body: Incoming) -> Result<Vec<u8>, Refusal> {
    let (mut bytes, mut seen) = (Vec::new(), 0);
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return Err(Refusal { status: 400, why: "the body broke off" }) };
        let Some(data) = frame.data_ref() else { continue };
        seen += data.len();
        if seen <= BODY_BYTES_MAX {
            bytes.extend_from_slice(data);
        } else if seen > DISCARDED_BYTES_MAX {
            break;
        }
    }
    if seen > BODY_BYTES_MAX {
        return Err(Refusal { status: 413, why: "the text is too long; write a shorter one" });
    }
    Ok(bytes)
}

fn response(answer: Answer) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(answer.body)));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let fixed = [
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        // A form of a page that sends no referrer has the origin `null`.
        ("referrer-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("content-type", answer.content_type),
    ];
    let headers = response.headers_mut();
    for (name, value) in fixed {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    let own = [("content-security-policy", Some(page::policy().to_owned())), ("location", answer.location)];
    for (name, value) in own {
        if let Some(value) = value.and_then(|value| HeaderValue::from_str(&value).ok()) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
    response
}
