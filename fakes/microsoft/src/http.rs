//! A fake behind real HTTP on loopback, for runs with real processes and the real clock.
//! Its delays are real too, so they are cut to [`DELAY_MAX_MS`]; it must differ from the in-memory skin in
//! nothing else.
//!
//! To break a connection, the server inside wiremock closes it without an answer. The client reports that the
//! connection closed before the message was complete. This server can't send a reset packet, nor a body that
//! stops in the middle.

use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::Timestamp;
use wiremock::http::{HeaderName, HeaderValue};
use wiremock::matchers::any;
use wiremock::{Match, Mock, MockServer, Respond, ResponseTemplate};

use crate::wire::{Answer, Fate, Request};

/// The longest delay in real time, in milliseconds.
pub const DELAY_MAX_MS: u64 = 50;
/// The size from which bodies are compressed, in bytes.
const GZIP_FROM_BYTES: usize = 1024;

type Service = Arc<dyn Fn(&Request) -> Answer + Send + Sync>;

/// Answers every request of a wiremock server.
///
/// When it is mounted alone, it can't break a connection and answers 502 instead.
/// [`crate::graph::serve`] mounts it so that it can.
#[derive(Clone)]
pub struct WiremockSkin {
    service: Service,
    /// The answer that [`Breaks`] made when it checked whether to break the connection.
    made: Arc<Mutex<Option<Answer>>>,
}

/// A responder that hands every request to `service`.
pub(crate) fn skin(service: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> WiremockSkin {
    WiremockSkin { service: Arc::new(service), made: Arc::new(Mutex::new(None)) }
}

impl WiremockSkin {
    fn ask(&self, request: &wiremock::Request) -> Answer {
        let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let url = request
            .url
            .query()
            .map_or_else(|| request.url.path().to_owned(), |query| format!("{}?{query}", request.url.path()));
        let request = Request {
            method: request.method.to_string(),
            url,
            headers: request.headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect(),
            body: request.body.clone(),
        };
        (self.service)(&request)
    }

    fn made(&self) -> std::sync::MutexGuard<'_, Option<Answer>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Respond for WiremockSkin {
    fn respond(&self, request: &wiremock::Request) -> ResponseTemplate {
        let made = self.made().take();
        let answer = made.unwrap_or_else(|| self.ask(request));
        if answer.fate != Fate::Delivered {
            return ResponseTemplate::new(502);
        }
        let zip = request.headers.get_all("accept-encoding").iter().any(|value| {
            value.to_str().is_ok_and(|list| list.split(',').any(|coding| coding.trim() == "gzip"))
        });
        template(answer, zip)
    }
}

/// Serves the request, and then keeps the answer or lets wiremock break the connection.
struct Breaks(WiremockSkin);

impl Match for Breaks {
    fn matches(&self, request: &wiremock::Request) -> bool {
        // Wiremock handles one request at a time from matching to responding, so one slot is enough.
        let answer = self.0.ask(request);
        let broken = answer.fate != Fate::Delivered;
        *self.0.made() = (!broken).then_some(answer);
        broken
    }
}

fn template(answer: Answer, zip: bool) -> ResponseTemplate {
    let mut template = ResponseTemplate::new(answer.status)
        .set_delay(Duration::from_millis(answer.delay_ms.min(DELAY_MAX_MS)));
    for (name, value) in &answer.headers {
        // A fault may ask for a value that HTTP can't carry; the header is then left out.
        let name = HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(value)) {
            template = template.append_header(name, value);
        }
    }
    if answer.body.is_empty() {
        return template;
    }
    match zipped(&answer.body).filter(|_| zip && answer.body.len() >= GZIP_FROM_BYTES) {
        Some(body) => template.append_header("content-encoding", "gzip").set_body_bytes(body),
        None => template.set_body_bytes(answer.body),
    }
}

fn zipped(body: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body).ok()?;
    encoder.finish().ok()
}

/// A fake that listens on loopback until it is dropped.
pub struct HttpFake<S> {
    http: MockServer,
    /// The fake that the server serves.
    pub fake: S,
}

impl<S> HttpFake<S> {
    /// The origin of the server, e.g. `http://127.0.0.1:40123`.
    pub fn base_url(&self) -> String {
        self.http.uri()
    }
}

/// Starts a server for a fake that can break connections too. The caller must tell the fake its origin.
pub(crate) async fn listen<S: Clone + Send + Sync + 'static>(
    fake: S,
    clock: impl Fn() -> Timestamp + Send + Sync + 'static,
    handle: impl Fn(&S, Timestamp, &Request) -> Answer + Send + Sync + 'static,
) -> HttpFake<S> {
    let http = MockServer::builder().disable_request_recording().start().await;
    let behind = fake.clone();
    let skin = skin(move |request: &Request| handle(&behind, clock(), request));
    let broken = |_: &wiremock::Request| std::io::Error::from(std::io::ErrorKind::ConnectionReset);
    Mock::given(Breaks(skin.clone())).respond_with_err(broken).with_priority(1).mount(&http).await;
    Mock::given(any()).respond_with(skin).with_priority(2).mount(&http).await;
    HttpFake { http, fake }
}
