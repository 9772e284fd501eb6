//! Presents streamable HTTP as two pipes: each line in is a POST, each message that comes back is a line out.
//! It never follows a redirect, never keeps more than one line of an endless body, and judges nothing.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use fake_hosts::Serve;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, WWW_AUTHENTICATE,
};
use schemas::Version;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::sync::mpsc;

use super::address::Address;
use super::heard::Heard;
use super::session::modern_meta;

/// Lines that may wait for the pipe.
const LINES_MAX: usize = 1_024;
/// Longest body or event, in bytes; a longer one ends its answer.
const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Time limit of a connection attempt.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The code of an HTTP error that came without one: the usual code of implementations.
pub(super) const STATUS_CODE: i64 = -32000;
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// A server at an address. It has no process, so any signal ends the connection. Headers and statuses go to `heard`.
pub(crate) fn server(address: Address, heard: Heard) -> Serve {
    Box::new(move |input, output| {
        let client = client(&address).map_err(io::Error::other)?;
        let heard = Rc::clone(&heard);
        let bridge = Bridge { client, url: address.url.clone(), state: Rc::default(), heard };
        Ok(Box::pin(async move {
            bridge.run(input, output).await;
            None
        }))
    })
}

/// A client that follows no redirect and sends the headers of the address with every request.
pub(super) fn client(address: &Address) -> reqwest::Result<reqwest::Client> {
    // An error means that a provider is already installed, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT_TIMEOUT)
        .default_headers(address.headers.clone())
        .build()
}

/// Whether the server lets this caller in: `None` if it does, otherwise a sentence that says what it wants. It is asked
/// once, because every row would meet the same refusal.
pub async fn authorization_wanted(address: &Address) -> Option<String> {
    let version = Version::NEWEST.as_str();
    let question = json!({"jsonrpc": "2.0", "id": "hostcheck", "method": "server/discover", "params": {"_meta": modern_meta(version)}});
    let request = client(address)
        .ok()?
        .post(&address.url)
        .header(ACCEPT, "application/json, text/event-stream")
        .header(CONTENT_TYPE, "application/json")
        .header(VERSION, version)
        .header(METHOD, "server/discover")
        .timeout(CONNECT_TIMEOUT)
        .body(question.to_string());
    // An answer that does not come is for the rows to judge.
    let response = request.send().await.ok()?;
    let status = response.status().as_u16();
    if !matches!(status, 401 | 403) {
        return None;
    }
    let challenge = response.headers().get(WWW_AUTHENTICATE).map(|value| readable(value.as_bytes()));
    Some(refused(status, challenge.as_deref(), address.headers.contains_key(AUTHORIZATION)))
}

/// Why a server refuses this caller, and what to do.
fn refused(status: u16, challenge: Option<&str>, has_token: bool) -> String {
    let told = challenge.map_or_else(String::new, |challenge| format!(" (WWW-Authenticate: {challenge})"));
    if has_token {
        return format!(
            "the server refuses the `Authorization` that was given with HTTP status {status}{told}; check that the token is \
             whole, has not expired, and is made for this address"
        );
    }
    let by_oauth =
        challenge.is_some_and(|challenge| challenge.to_ascii_lowercase().contains("resource_metadata"));
    let wants = match (status, challenge) {
        (403, None) => "refuses this caller",
        _ if by_oauth => "wants a sign-in by OAuth, which hostcheck does not do,",
        _ => "wants a token",
    };
    format!(
        "the server {wants} and answers HTTP status {status}{told}; sign in with its own tools, put the token into a variable, and \
         name that with --bearer-env VARIABLE, or pass another header with --header 'Name: ${{VARIABLE}}'"
    )
}

/// A header as one short line.
fn readable(bytes: &[u8]) -> String {
    const CHARACTERS: usize = 300;
    String::from_utf8_lossy(bytes).chars().filter(|c| !c.is_control()).take(CHARACTERS).collect()
}

/// What the server said about the session.
#[derive(Default)]
struct State {
    session: Option<HeaderValue>,
    version: Option<HeaderValue>,
    /// Whether the last version was one without a session.
    is_modern: bool,
}

#[derive(Clone)]
struct Bridge {
    client: reqwest::Client,
    url: String,
    state: Rc<RefCell<State>>,
    heard: Heard,
}

impl Bridge {
    /// Each line is sent only after the answer to the one before has begun, so that their order is kept.
    async fn run(self, input: DuplexStream, mut output: DuplexStream) {
        let (lines, mut written) = mpsc::channel::<Vec<u8>>(LINES_MAX);
        let mut answers = FuturesUnordered::new();
        let mut input = BufReader::new(input);
        let mut line = Vec::new();
        let mut open = true;
        loop {
            tokio::select! {
                biased;
                Some(out) = written.recv() => {
                    if output.write_all(&out).await.is_err() {
                        return;
                    }
                }
                Some(()) = answers.next(), if !answers.is_empty() => {}
                read = input.read_until(b'\n', &mut line), if open => {
                    if !matches!(read, Ok(size) if size > 0) {
                        open = false;
                        continue;
                    }
                    let message = std::mem::take(&mut line);
                    let listens = is_initialized(&message);
                    let (posting, out) = (self.clone(), lines.clone());
                    answers.push(futures_util::future::FutureExt::boxed_local(async move {
                        posting.post(message, out).await;
                    }));
                    if listens {
                        let (listening, out) = (self.clone(), lines.clone());
                        answers.push(futures_util::future::FutureExt::boxed_local(async move {
                            listening.listen(out).await;
                        }));
                    }
                }
                else => break,
            }
            if !open {
                break;
            }
        }
        self.leave().await;
    }

    async fn post(&self, line: Vec<u8>, out: mpsc::Sender<Vec<u8>>) {
        let message: Value = serde_json::from_slice(&line).unwrap_or_default();
        let headers = self.headers(&message);
        self.hear(format!("HTTP POST{}", listed(&headers)));
        let request = self
            .client
            .post(&self.url)
            .headers(headers)
            .header(ACCEPT, "application/json, text/event-stream")
            .header(CONTENT_TYPE, "application/json")
            .body(line);
        // A request without an answer is silence, which is also what a host sees.
        let response = match request.send().await {
            Ok(response) => response,
            Err(error) => return self.hear(format!("HTTP: no answer: {}", error.without_url())),
        };
        self.hear(format!("HTTP status {}{}", response.status().as_u16(), listed(response.headers())));
        if message["method"] == "initialize" {
            self.state.borrow_mut().session = response.headers().get(SESSION).cloned();
        }
        if response.status().is_success() {
            if !is_readable(&response)
                && let Some(answer) = unreadable(&message, &response)
            {
                return self.hand_over(answer, false, &out).await;
            }
            return self.answer(response, message["method"] == "initialize", &out).await;
        }
        let status = response.status().as_u16();
        let body = response.bytes().await.unwrap_or_default();
        if let Some(answer) = refusal(&message, status, &body) {
            self.hand_over(answer, false, &out).await;
        }
    }

    fn hear(&self, text: String) {
        self.heard.borrow_mut().push(text);
    }

    /// Opens the stream of messages that belong to no request. Many servers have none.
    async fn listen(&self, out: mpsc::Sender<Vec<u8>>) {
        let request = self
            .client
            .get(&self.url)
            .headers(self.headers(&Value::Null))
            .header(ACCEPT, "text/event-stream");
        if let Ok(response) = request.send().await
            && response.status().is_success()
        {
            self.answer(response, false, &out).await;
        }
    }

    async fn leave(&self) {
        if self.state.borrow().session.is_some() {
            // The server may refuse; the connection ends either way.
            let _ = self.client.delete(&self.url).headers(self.headers(&Value::Null)).send().await;
        }
    }

    /// The headers of a message: those of the session, or, in the newer era, those that repeat the message's members.
    /// A request without its version is sent with that of the request before, so that its body alone is wrong.
    fn headers(&self, message: &Value) -> HeaderMap {
        let mut state = self.state.borrow_mut();
        let text = |pointer: &str| message.pointer(pointer).and_then(Value::as_str);
        let value = |text: Option<&str>| text.and_then(|text| HeaderValue::from_str(text).ok());
        if let Some(version) = value(text("/params/_meta/io.modelcontextprotocol~1protocolVersion")) {
            (state.version, state.is_modern) = (Some(version), true);
        } else if text("/method") == Some("initialize") {
            // A host that has asked for the newer protocol in vain begins anew.
            (state.version, state.is_modern) = (None, false);
        }
        let named = state.is_modern.then(|| text("/params/name").or_else(|| text("/params/uri"))).flatten();
        let method = state.is_modern.then(|| text("/method")).flatten();
        let all = [
            (SESSION, state.session.clone()),
            (VERSION, state.version.clone()),
            (METHOD, value(method)),
            (NAME, value(named)),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    async fn answer(&self, mut response: reqwest::Response, opens: bool, out: &mpsc::Sender<Vec<u8>>) {
        let kind = kind_of(&response);
        let streams = kind.starts_with("text/event-stream");
        let is_json = kind.starts_with("application/json");
        let mut body = Vec::new();
        while let Ok(Some(chunk)) = response.chunk().await {
            body.extend_from_slice(&chunk);
            if body.len() > BODY_BYTES_MAX {
                return;
            }
            if streams {
                while let Some(event) = take_event(&mut body) {
                    self.hand_over(event, opens, out).await;
                }
            }
        }
        // A body of another kind, like the page of a proxy, is no message.
        if is_json && !body.is_empty() {
            self.hand_over(body, opens, out).await;
        }
    }

    async fn hand_over(&self, mut line: Vec<u8>, opens: bool, out: &mpsc::Sender<Vec<u8>>) {
        if opens && let Ok(message) = serde_json::from_slice::<Value>(&line) {
            let version = message.pointer("/result/protocolVersion").and_then(Value::as_str);
            if let Some(version) = version.and_then(|version| HeaderValue::from_str(version).ok()) {
                let mut state = self.state.borrow_mut();
                (state.version, state.is_modern) = (Some(version), false);
            }
        }
        // A body may be printed over several lines; on a pipe each message is one line.
        line.retain(|byte| !matches!(byte, b'\n' | b'\r'));
        line.push(b'\n');
        // If the reader has ended, the connection ends elsewhere.
        let _ = out.send(line).await;
    }
}

fn kind_of(response: &reqwest::Response) -> &str {
    response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default()
}

/// The headers of MCP, for a transcript; the id of a session may let its reader into the session.
fn listed(headers: &HeaderMap) -> String {
    let shown = [CONTENT_TYPE, VERSION, METHOD, NAME, SESSION, WWW_AUTHENTICATE];
    let texts = shown.iter().filter_map(|name| {
        let value = headers.get(name)?;
        let value = if *name == SESSION { "(an id)".to_owned() } else { readable(value.as_bytes()) };
        Some(format!(", {name}: {value}"))
    });
    texts.collect()
}

/// Whether the content type allows messages in the body.
fn is_readable(response: &reqwest::Response) -> bool {
    let kind = kind_of(response);
    kind.starts_with("text/event-stream") || kind.starts_with("application/json")
}

/// The error for a request whose answer can't hold a message, like the page of a proxy. Hosts then give the
/// request up at once.
fn unreadable(request: &Value, response: &reqwest::Response) -> Option<Vec<u8>> {
    let id = request.get("id").filter(|_| request.get("method").is_some())?;
    let kind = match kind_of(response) {
        "" => "without a content type".to_owned(),
        kind => format!("of the content type {kind}"),
    };
    let message = format!("HTTP status {} {kind}, which holds no message", response.status().as_u16());
    let answer = json!({"jsonrpc": "2.0", "id": id, "error": {"code": STATUS_CODE, "message": message}});
    Some(answer.to_string().into_bytes())
}

/// The error for a request that was answered with an HTTP error. The body may be a JSON-RPC error without an
/// id, since HTTP shows which request it answers; on a pipe it needs one. For anything but a request there is
/// nothing to send.
fn refusal(request: &Value, status: u16, body: &[u8]) -> Option<Vec<u8>> {
    let id = request.get("id").filter(|_| request.get("method").is_some())?;
    let told = serde_json::from_slice::<Value>(body)
        .ok()
        .filter(|told| told.get("error").is_some_and(Value::is_object));
    let mut answer = told.unwrap_or_else(|| {
        let message = format!("HTTP status {status} without a JSON-RPC error");
        json!({"jsonrpc": "2.0", "error": {"code": STATUS_CODE, "message": message}})
    });
    if answer.get("id").is_none_or(Value::is_null) {
        answer["id"] = id.clone();
    }
    Some(answer.to_string().into_bytes())
}

fn is_initialized(line: &[u8]) -> bool {
    serde_json::from_slice::<Value>(line)
        .is_ok_and(|message| message["method"] == "notifications/initialized")
}

/// Takes the next complete event off the stream, as its joined data lines.
fn take_event(stream: &mut Vec<u8>) -> Option<Vec<u8>> {
    loop {
        let (end, skip) = event_end(stream)?;
        let event: Vec<u8> = stream.drain(..end + skip).take(end).collect();
        let mut data = Vec::new();
        for line in event.split(|byte| *byte == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if let Some(rest) = line.strip_prefix(b"data:") {
                data.extend_from_slice(rest.strip_prefix(b" ").unwrap_or(rest));
            }
        }
        // Comments and events without data only keep a connection open.
        if !data.is_empty() {
            return Some(data);
        }
    }
}

fn event_end(stream: &[u8]) -> Option<(usize, usize)> {
    let plain = stream.windows(2).position(|pair| pair == b"\n\n").map(|at| (at, 2));
    let wide = stream.windows(4).position(|four| four == b"\r\n\r\n").map(|at| (at, 4));
    [plain, wide].into_iter().flatten().min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_that_was_refused_is_not_named_in_the_next_opening() {
        let bridge = Bridge {
            client: client(&Address::new("http://127.0.0.1:1/mcp".to_owned(), &[]).expect("an address"))
                .expect("a client"),
            url: String::new(),
            state: Rc::default(),
            heard: Heard::default(),
        };
        let version = |message: &Value| bridge.headers(message).get(&VERSION).cloned();
        let meta = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}});
        let discover = json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": meta});
        assert_eq!(version(&discover).unwrap(), "2026-07-28");
        let initialize = json!({"jsonrpc": "2.0", "id": 2, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}});
        assert_eq!(version(&initialize), None);
    }

    #[test]
    fn events_come_off_a_stream_one_by_one() {
        let mut stream =
            b": alive\n\nevent: message\ndata: {\"a\":\ndata: 1}\r\n\r\nid: 7\ndata:{}\n\ndata: {\"ha"
                .to_vec();
        assert_eq!(take_event(&mut stream).as_deref(), Some(&b"{\"a\":1}"[..]));
        assert_eq!(take_event(&mut stream).as_deref(), Some(&b"{}"[..]));
        assert_eq!(take_event(&mut stream), None);
        assert_eq!(stream, b"data: {\"ha");
    }

    #[test]
    fn a_refusal_says_what_the_server_wants_and_what_to_do() {
        let oauth = "Bearer resource_metadata=\"https://contoso.com/.well-known/oauth-protected-resource\"";
        let told = refused(401, Some(oauth), false);
        assert!(
            told.contains("by OAuth, which hostcheck does not do") && told.contains("--bearer-env"),
            "{told}"
        );
        assert!(refused(401, Some("Bearer"), false).contains("wants a token and answers"));
        assert!(refused(403, None, false).contains("refuses this caller"));
        assert!(refused(401, None, true).contains("refuses the `Authorization` that was given"));
    }

    #[test]
    fn an_http_error_answers_the_request_that_it_came_for() {
        let request = json!({"jsonrpc": "2.0", "id": "a", "method": "ping"});
        let told = |body: &[u8]| {
            serde_json::from_slice::<Value>(&refusal(&request, 400, body).expect("an answer")).expect("JSON")
        };
        let without_id = br#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"no"},"id":null}"#;
        assert_eq!(
            told(without_id),
            json!({"jsonrpc": "2.0", "error": {"code": -32600, "message": "no"}, "id": "a"})
        );
        assert_eq!(told(b"<html>")["error"]["message"], "HTTP status 400 without a JSON-RPC error");
        let notification = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(refusal(&notification, 400, b"{}"), None);
    }
}
