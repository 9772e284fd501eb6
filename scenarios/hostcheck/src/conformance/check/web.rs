//! Streamable HTTP itself: statuses, headers, sessions, origins. These requests don't go through the bridge
//! that turns an address into pipes. It never follows a redirect, and reads no stream to its end.

use std::net::IpAddr;
use std::time::Duration;

use reports::event::Lane;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, ORIGIN};
use reqwest::{Client, Method};
use schemas::Version;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::probe::probes;
use crate::conformance::http;
use crate::conformance::lab::{Lab, Trouble};
use crate::conformance::session::{ANSWER_WITHIN, initialize_params, modern_meta};
use crate::conformance::target::Target;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
/// An origin that no server has a reason to trust.
const FOREIGN_ORIGIN: &str = "http://hostcheck.invalid";
/// A version that was never published.
const NO_VERSION: &str = "1999-01-01";
/// The same for the newer era.
const NO_MODERN_VERSION: &str = "2999-01-01";
/// The most bytes of a body that are read.
const BODY_BYTES_MAX: usize = 1024 * 1024;
/// Time limit for the rest of a body, once its head has arrived.
const BODY_WITHIN: Duration = Duration::from_secs(5);
const HEADER_MISMATCH: i64 = -32020;
const UNSUPPORTED_VERSION: i64 = -32022;
const NO_SUCH_METHOD: i64 = -32601;
const KINDS: &str = "application/json or text/event-stream";
const OTHER_KIND: &str = "a request is answered with another content type";
const NO_SESSION: &str = "the server assigns no session id";

probes! {
    "http session"
        ["http.content-type", "http.accepted", "http.session-visible", "http.session-served",
         "http.session-required", "http.session-ended", "http.version-refused", "http.version-absent",
         "http.get"]
        Legacy Address |lab| session(lab);
    "http origin" ["http.origin"] Both Address |lab| origin(lab);
    "http without sessions"
        ["http.content-type-modern", "http.version-mismatch", "http.version-unknown", "http.unknown-method"]
        Modern Address |lab| modern(lab);
}

struct Endpoint {
    client: Client,
    url: String,
}

struct Answer {
    status: u16,
    kind: String,
    session: Option<HeaderValue>,
    body: Vec<u8>,
}

impl Answer {
    fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    fn streams(&self) -> bool {
        self.kind.starts_with("text/event-stream")
    }

    fn is_message(&self) -> bool {
        self.streams() || self.kind.starts_with("application/json")
    }

    fn code(&self) -> Option<i64> {
        serde_json::from_slice::<Value>(&self.body).ok()?.pointer("/error/code")?.as_i64()
    }

    /// The answer in one line, for a report.
    fn say(&self) -> String {
        let kind = if self.kind.is_empty() { "no content type" } else { &self.kind };
        format!("status {}, {kind}, {}", self.status, String::from_utf8_lossy(&self.body))
    }
}

impl Endpoint {
    fn of(lab: &Lab) -> Result<Self, Trouble> {
        let Target::Url(address) = &lab.target else {
            return Err(Trouble("the server has no address".to_owned()));
        };
        let client = http::client(address).map_err(|error| Trouble(format!("no HTTP client: {error}")))?;
        Ok(Self { client, url: address.url.clone() })
    }

    /// Whether the address is one of this machine alone.
    fn is_local(&self) -> bool {
        let host = url::Url::parse(&self.url).ok().and_then(|url| url.host_str().map(str::to_owned));
        host.is_some_and(|host| {
            let bare = host.trim_start_matches('[').trim_end_matches(']');
            host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        })
    }

    async fn post(&self, lab: &Lab, headers: HeaderMap, message: &Value) -> Result<Answer, Trouble> {
        let request = self
            .client
            .post(&self.url)
            .header(ACCEPT, "application/json, text/event-stream")
            .header(CONTENT_TYPE, "application/json")
            .headers(headers.clone())
            .body(message.to_string());
        self.send(lab, &Method::POST, &headers, request, &message.to_string()).await
    }

    async fn send(
        &self,
        lab: &Lab,
        method: &Method,
        headers: &HeaderMap,
        request: reqwest::RequestBuilder,
        body: &str,
    ) -> Result<Answer, Trouble> {
        let told = |name: &HeaderName, value: &HeaderValue| {
            // The id of a session gives access to it, so no report may contain it.
            if name == SESSION { format!("{name}: <session id>") } else { format!("{name}: {value:?}") }
        };
        let sent: Vec<String> = headers.iter().map(|(name, value)| told(name, value)).collect();
        let line = format!("{method} [{}] {body}", sent.join(", "));
        lab.record.borrow_mut().note(0, Lane::HostToServer, &line);
        let lost = |what: &str| Trouble(format!("{method} got no answer: {what}"));
        let response = match timeout(lab.found.opens_within(), request.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(lost(&error.without_url().to_string())),
            Err(_) => return Err(lost("the time was up")),
        };
        let head = |name| response.headers().get(name).cloned();
        let kind = head(CONTENT_TYPE).and_then(|kind| kind.to_str().map(str::to_ascii_lowercase).ok());
        let mut answer = Answer {
            status: response.status().as_u16(),
            kind: kind.unwrap_or_default(),
            session: head(SESSION),
            body: Vec::new(),
        };
        if !answer.streams() {
            // A body that does not arrive in time counts as missing.
            let _ = timeout(BODY_WITHIN, read_into(response, &mut answer.body)).await;
        }
        lab.record.borrow_mut().note(0, Lane::ServerToHost, &answer.say());
        Ok(answer)
    }
}

async fn read_into(mut response: reqwest::Response, body: &mut Vec<u8>) {
    while let Ok(Some(chunk)) = response.chunk().await {
        let room = BODY_BYTES_MAX.saturating_sub(body.len());
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if room <= chunk.len() {
            return;
        }
    }
}

fn headers<const N: usize>(given: [(HeaderName, Option<HeaderValue>); N]) -> HeaderMap {
    given.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

fn value(text: &str) -> Option<HeaderValue> {
    HeaderValue::from_str(text).ok()
}

fn request(id: i64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

async fn session(lab: &mut Lab) -> Result<(), Trouble> {
    let endpoint = Endpoint::of(lab)?;
    let opening = request(1, "initialize", &initialize_params(lab.version.as_str()));
    let opened = endpoint.post(lab, HeaderMap::new(), &opening).await?;
    if !opened.is_success() {
        return Err(Trouble(format!("`initialize` is refused: {}", opened.say())));
    }
    lab.expect("http.content-type", opened.is_message(), OTHER_KIND, KINDS, &opened.say());
    let assigned = opened.session.clone();
    let version = value(lab.version.as_str());
    let own = || headers([(SESSION, assigned.clone()), (VERSION, version.clone())]);
    let ping = |id| request(id, "ping", &json!({}));

    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let accepted = endpoint.post(lab, own(), &initialized).await?;
    let holds = accepted.status == 202 && accepted.body.is_empty() && !accepted.streams();
    let message = "a notification that is accepted is not answered with 202 alone";
    lab.expect("http.accepted", holds, message, "202 Accepted without a body", &accepted.say());

    let served = endpoint.post(lab, own(), &ping(2)).await?;
    if served.is_success() {
        lab.expect("http.content-type", served.is_message(), OTHER_KIND, KINDS, &served.say());
    }
    match &assigned {
        None => lab
            .skip_all(&["http.session-visible", "http.session-served", "http.session-required"], NO_SESSION),
        Some(id) => {
            let bytes = id.as_bytes().iter();
            let others: Vec<String> = bytes
                .filter(|byte| !(0x21..=0x7e).contains(*byte))
                .map(|byte| format!("0x{byte:02X}"))
                .collect();
            let message = "the session id has other characters than visible ASCII";
            let said = others.join(", ");
            lab.expect("http.session-visible", others.is_empty(), message, "0x21 to 0x7E", &said);
            let message = "a request with the id of its session is not served";
            lab.expect("http.session-served", served.is_success(), message, "an answer", &served.say());
            let bare = endpoint.post(lab, headers([(VERSION, version.clone())]), &ping(3)).await?;
            if bare.is_success() {
                lab.skip("http.session-required", "the server requires no session id");
            } else {
                let message = "a request without a session id is refused with another status than 400";
                lab.expect("http.session-required", bare.status == 400, message, "400", &bare.say());
            }
        }
    }
    let strange = headers([(SESSION, assigned.clone()), (VERSION, value(NO_VERSION))]);
    let refused = endpoint.post(lab, strange, &ping(4)).await?;
    let message = "a request of a version that the server can't know is not refused with 400";
    lab.expect("http.version-refused", refused.status == 400, message, "400 Bad Request", &refused.say());
    let absent = endpoint.post(lab, headers([(SESSION, assigned.clone())]), &ping(5)).await?;
    let message = "a request without a version header is not served";
    lab.expect("http.version-absent", absent.is_success(), message, "an answer", &absent.say());

    let listening = endpoint.client.get(&endpoint.url).header(ACCEPT, "text/event-stream").headers(own());
    let stream = endpoint.send(lab, &Method::GET, &own(), listening, "").await?;
    let holds = stream.status == 405 || (stream.is_success() && stream.streams());
    let message = "GET gives neither a stream nor 405";
    lab.expect("http.get", holds, message, "text/event-stream, or 405 Method Not Allowed", &stream.say());
    ended(lab, &endpoint, assigned.is_some(), own()).await
}

/// After a session was ended, its id must be refused.
async fn ended(lab: &mut Lab, endpoint: &Endpoint, has_session: bool, own: HeaderMap) -> Result<(), Trouble> {
    if !has_session {
        lab.skip("http.session-ended", NO_SESSION);
        return Ok(());
    }
    let leaving = endpoint.client.delete(&endpoint.url).headers(own.clone());
    let left = endpoint.send(lab, &Method::DELETE, &own, leaving, "").await?;
    if !left.is_success() {
        lab.skip("http.session-ended", "the server lets no host end a session");
        return Ok(());
    }
    let after = endpoint.post(lab, own, &request(6, "ping", &json!({}))).await?;
    let message = "a request of a session that has ended is not refused with 404";
    lab.expect("http.session-ended", after.status == 404, message, "404 Not Found", &after.say());
    Ok(())
}

async fn origin(lab: &mut Lab) -> Result<(), Trouble> {
    let check = "http.origin";
    let endpoint = Endpoint::of(lab)?;
    if !endpoint.is_local() {
        lab.skip(check, "a server that others can reach decides itself which origins it trusts");
        return Ok(());
    }
    let version = lab.version;
    let (method, params) = if version.is_modern() {
        ("server/discover", json!({"_meta": modern_meta(version.as_str())}))
    } else {
        ("initialize", initialize_params(version.as_str()))
    };
    let headers = headers([
        (ORIGIN, value(FOREIGN_ORIGIN)),
        (VERSION, value(version.as_str()).filter(|_| version.is_modern())),
        (METHOD, value(method).filter(|_| version.is_modern())),
    ]);
    let answer = endpoint.post(lab, headers, &request(1, method, &params)).await?;
    // The specification names the status from 2025-11-25 on.
    let holds = if version < Version::V2025_11_25 { !answer.is_success() } else { answer.status == 403 };
    let message = "a page from anywhere in a browser can speak to this server";
    lab.expect(check, holds, message, "403 Forbidden", &answer.say());
    Ok(())
}

async fn modern(lab: &mut Lab) -> Result<(), Trouble> {
    let endpoint = Endpoint::of(lab)?;
    let version = lab.version.as_str();
    let ask = |id, method: &str, named: &str| request(id, method, &json!({"_meta": modern_meta(named)}));
    let own = |method: &str, named: &str| headers([(VERSION, value(named)), (METHOD, value(method))]);
    let discovered =
        endpoint.post(lab, own("server/discover", version), &ask(1, "server/discover", version)).await?;
    let holds = discovered.is_message();
    lab.expect("http.content-type-modern", holds, OTHER_KIND, KINDS, &discovered.say());

    let other = own("server/discover", "2025-11-25");
    let mismatch = endpoint.post(lab, other, &ask(2, "server/discover", version)).await?;
    let holds = mismatch.status == 400 && mismatch.code() == Some(HEADER_MISMATCH);
    let message = "a header with another version than the body is not refused as such";
    lab.expect("http.version-mismatch", holds, message, "400 with the code -32020", &mismatch.say());

    let unknown = own("server/discover", NO_MODERN_VERSION);
    let unknown = endpoint.post(lab, unknown, &ask(3, "server/discover", NO_MODERN_VERSION)).await?;
    let holds = unknown.status == 400 && unknown.code() == Some(UNSUPPORTED_VERSION);
    let message = "a version that the server can't know is not refused as such";
    lab.expect("http.version-unknown", holds, message, "400 with the code -32022", &unknown.say());

    let method = "hostcheck/no-such-method";
    let missing =
        timeout(ANSWER_WITHIN, endpoint.post(lab, own(method, version), &ask(4, method, version))).await;
    let missing = missing.map_err(|_| Trouble("an unknown method is not answered".to_owned()))??;
    let holds = missing.status == 404 && missing.code() == Some(NO_SUCH_METHOD);
    let message = "an unknown method is not refused as such";
    lab.expect("http.unknown-method", holds, message, "404 with the code -32601", &missing.say());
    Ok(())
}
