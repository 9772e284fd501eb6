//! Servers at an address: a tiny one of streamable HTTP that keeps every rule, and its faults one by one,
//! each caught by the row that it breaks. They listen on loopback, so time is real here.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::rc::Rc;
use std::sync::Arc;

use hostcheck::conformance::{self, Address, Findings, Level, Outcome, Plan, Target, Wishes};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rstest::rstest;
use schemas::Version;
use serde_json::{Value, json};
use tokio::net::TcpListener;

const OLD: Version = Version::V2025_11_25;
const NEW: Version = Version::V2026_07_28;
const LEGACY: [&str; 3] = ["2025-03-26", "2025-06-18", "2025-11-25"];
const MODERN: &str = "2026-07-28";
const BEARER: &str = "Bearer t0ken-of-alice";
const CHALLENGE: &str = "Bearer resource_metadata=\"http://127.0.0.1/.well-known/oauth-protected-resource\"";
const META: &str = "io.modelcontextprotocol";

/// A fault of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    SpeaksPlainText,
    AnswersNotifications,
    AnswersWithoutAnId,
    AnswersGet,
    TrustsAnyOrigin,
    ForgetsSessions,
    NamesSessionsOddly,
    MissesSessionsWrongly,
    KeepsEndedSessions,
    TakesAnyVersion,
    NeedsAVersion,
    IgnoresMismatches,
    FindsEveryMethod,
    RefusesVersionsOtherwise,
    WantsAToken,
}

struct Server {
    fault: Fault,
    sessions: RefCell<BTreeSet<String>>,
    opened: Cell<u64>,
}

/// Status, content type, session id, body.
struct Reply {
    status: u16,
    kind: &'static str,
    session: Option<String>,
    body: String,
}

fn bare(status: u16) -> Reply {
    Reply { status, kind: "", session: None, body: String::new() }
}

fn message(status: u16, body: &Value) -> Reply {
    Reply { status, kind: "application/json", session: None, body: body.to_string() }
}

fn error(status: u16, id: &Value, code: i64, text: &str, data: Option<Value>) -> Reply {
    let mut error = json!({"code": code, "message": text});
    if let Some(data) = data {
        error["data"] = data;
    }
    message(status, &json!({"jsonrpc": "2.0", "id": id, "error": error}))
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

impl Server {
    fn has(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    fn reply(&self, method: &str, headers: &HeaderMap, body: &[u8]) -> Reply {
        let foreign = text(headers, "origin").is_some_and(|origin| !origin.starts_with("http://127.0.0.1"));
        if foreign && !self.has(Fault::TrustsAnyOrigin) {
            return bare(403);
        }
        let session = text(headers, "mcp-session-id");
        match method {
            "POST" => {}
            "GET" if self.has(Fault::AnswersGet) => return message(200, &json!({})),
            "DELETE" => {
                if let Some(session) = session.filter(|_| !self.has(Fault::KeepsEndedSessions)) {
                    self.sessions.borrow_mut().remove(session);
                }
                return bare(204);
            }
            _ => return bare(405),
        }
        let Ok(asked) = serde_json::from_slice::<Value>(body) else {
            return error(400, &Value::Null, -32700, "no JSON", None);
        };
        let named =
            asked.pointer("/params/_meta").and_then(|meta| meta.get(format!("{META}/protocolVersion")));
        if named.is_some() || asked["method"] == "server/discover" {
            self.modern(headers, &asked)
        } else {
            self.legacy(session, headers, &asked)
        }
    }

    fn legacy(&self, session: Option<&str>, headers: &HeaderMap, asked: &Value) -> Reply {
        let id = &asked["id"];
        let method = asked["method"].as_str().unwrap_or_default();
        if method == "initialize" {
            let wanted = asked["params"]["protocolVersion"].as_str().unwrap_or_default();
            let version = LEGACY.into_iter().find(|known| *known == wanted).unwrap_or(LEGACY[2]);
            self.opened.set(self.opened.get() + 1);
            let space = if self.has(Fault::NamesSessionsOddly) { " " } else { "-" };
            let name = format!("session{space}{}", self.opened.get());
            if !self.has(Fault::ForgetsSessions) {
                self.sessions.borrow_mut().insert(name.clone());
            }
            let result = json!({
                "protocolVersion": version, "capabilities": {"tools": {}},
                "serverInfo": {"name": "tiny-web", "version": "1"},
            });
            let answer = message(200, &json!({"jsonrpc": "2.0", "id": id, "result": result}));
            return Reply { session: Some(name), ..answer };
        }
        match session {
            None => return bare(if self.has(Fault::MissesSessionsWrongly) { 401 } else { 400 }),
            Some(session) if !self.sessions.borrow().contains(session) => return bare(404),
            Some(_) => {}
        }
        let known = match text(headers, "mcp-protocol-version") {
            None => !self.has(Fault::NeedsAVersion),
            Some(version) => LEGACY.contains(&version) || self.has(Fault::TakesAnyVersion),
        };
        if !known {
            return bare(400);
        }
        if asked.get("id").is_none() {
            return if self.has(Fault::AnswersNotifications) { message(200, &json!({})) } else { bare(202) };
        }
        match result_of(method, &asked["params"]) {
            Ok(result) => message(200, &json!({"jsonrpc": "2.0", "id": id, "result": result})),
            Err((code, said)) => error(200, id, code, said, None),
        }
    }

    fn modern(&self, headers: &HeaderMap, asked: &Value) -> Reply {
        let id = &asked["id"];
        let meta = &asked["params"]["_meta"];
        let named = meta[format!("{META}/protocolVersion")].as_str().unwrap_or_default();
        if named.is_empty() {
            return error(400, id, -32602, "no version", None);
        }
        if text(headers, "mcp-protocol-version") != Some(named) && !self.has(Fault::IgnoresMismatches) {
            return error(400, id, -32020, "the header names another version", None);
        }
        if named != MODERN {
            let code = if self.has(Fault::RefusesVersionsOtherwise) { -32602 } else { -32022 };
            let data = json!({"supported": [MODERN], "requested": named});
            return error(400, id, code, "no such version", Some(data));
        }
        if !meta[format!("{META}/clientCapabilities")].is_object() {
            return error(400, id, -32602, "no capabilities", None);
        }
        if asked.get("id").is_none() && !self.has(Fault::AnswersWithoutAnId) {
            return bare(202);
        }
        let method = asked["method"].as_str().unwrap_or_default();
        let found = match method {
            "server/discover" => Ok(json!({
                "supportedVersions": [MODERN], "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private",
                "_meta": {format!("{META}/serverInfo"): {"name": "tiny-web", "version": "1"}},
            })),
            "ping" | "initialize" => Err((-32601, "no such method")),
            _ => result_of(method, &asked["params"]),
        };
        match found {
            Ok(mut result) => {
                result["resultType"] = json!("complete");
                if method == "tools/list" {
                    result["ttlMs"] = json!(0);
                    result["cacheScope"] = json!("private");
                }
                message(200, &json!({"jsonrpc": "2.0", "id": id, "result": result}))
            }
            Err((-32601, _)) if self.has(Fault::FindsEveryMethod) => {
                message(200, &json!({"jsonrpc": "2.0", "id": id, "result": {"resultType": "complete"}}))
            }
            Err((code, said)) => error(if code == -32601 { 404 } else { 200 }, id, code, said, None),
        }
    }
}

fn result_of(method: &str, params: &Value) -> Result<Value, (i64, &'static str)> {
    let done = |text: &str, is_error: bool| json!({"content": [{"type": "text", "text": text}], "isError": is_error});
    match method {
        "ping" => Ok(json!({})),
        "tools/list" if params.get("cursor").is_some() => Err((-32602, "no such cursor")),
        "tools/list" => Ok(json!({"tools": [{
            "name": "echo", "description": "Says it again.", "annotations": {"readOnlyHint": true},
            "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
        }]})),
        "tools/call" => match (params["name"].as_str(), params["arguments"]["text"].as_str()) {
            (Some("echo"), Some(text)) => Ok(done(text, false)),
            (Some("echo"), None) if params["arguments"].is_object() || params.get("arguments").is_none() => {
                Ok(done("`text` is missing", true))
            }
            _ => Err((-32602, "no such tool, or no arguments")),
        },
        _ => Err((-32601, "no such method")),
    }
}

async fn exchange(
    request: Request<Incoming>,
    server: Rc<Server>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let lets_in = !server.has(Fault::WantsAToken) || text(&head.headers, "authorization") == Some(BEARER);
    let reply = if lets_in { server.reply(head.method.as_str(), &head.headers, &body) } else { bare(401) };
    let mut response = Response::new(Full::new(Bytes::from(reply.body)));
    *response.status_mut() = StatusCode::from_u16(reply.status).expect("a status");
    let kind =
        if server.has(Fault::SpeaksPlainText) && !reply.kind.is_empty() { "text/plain" } else { reply.kind };
    if !kind.is_empty() {
        response.headers_mut().insert("content-type", kind.parse().expect("a content type"));
    }
    if let Some(session) = reply.session {
        response.headers_mut().insert("mcp-session-id", session.parse().expect("a header"));
    }
    if !lets_in {
        response.headers_mut().insert("www-authenticate", CHALLENGE.parse().expect("a header"));
    }
    Ok(response)
}

/// Judges a server with this fault by some rows in one version.
fn judge(fault: Fault, rows: impl Fn(&str) -> bool, version: Version) -> Findings {
    with_server(fault, &[], async |address| {
        let all = conformance::rows().expect("the rows");
        let plan = Plan {
            target: Target::Url(address),
            name: None,
            wishes: Arc::new(Wishes::default()),
            rows: all.into_iter().filter(|placed| rows(&placed.row.id)).collect(),
            versions: vec![version],
            full: true,
            named: false,
            demanded: true,
            hosts: Vec::new(),
            at_once: 16,
        };
        conformance::judge(&plan, &|_| {}, &conformance::Stop::default()).await
    })
}

/// Does something with the address of a server with this fault; the headers go with every request.
fn with_server<T>(fault: Fault, headers: &[(String, String)], work: impl AsyncFnOnce(Address) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let server = Rc::new(Server { fault, sessions: RefCell::default(), opened: Cell::new(0) });
        let serving = tokio::task::spawn_local(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let server = Rc::clone(&server);
                let service = service_fn(move |request| exchange(request, Rc::clone(&server)));
                tokio::task::spawn_local(
                    http1::Builder::new().serve_connection(TokioIo::new(stream), service),
                );
            }
        });
        let address = Address::new(format!("http://{address}/mcp"), headers).expect("an address");
        let done = work(address).await;
        serving.abort();
        done
    })
}

#[rstest]
#[case(Fault::SpeaksPlainText, "http.content-type", OLD)]
#[case(Fault::SpeaksPlainText, "http.content-type-modern", NEW)]
#[case(Fault::AnswersNotifications, "http.accepted", OLD)]
#[case(Fault::AnswersWithoutAnId, "messages.notification-unanswered", NEW)]
#[case(Fault::AnswersGet, "http.get", OLD)]
#[case(Fault::TrustsAnyOrigin, "http.origin", OLD)]
#[case(Fault::TrustsAnyOrigin, "http.origin", NEW)]
#[case(Fault::ForgetsSessions, "http.session-served", OLD)]
#[case(Fault::NamesSessionsOddly, "http.session-visible", OLD)]
#[case(Fault::MissesSessionsWrongly, "http.session-required", OLD)]
#[case(Fault::KeepsEndedSessions, "http.session-ended", OLD)]
#[case(Fault::TakesAnyVersion, "http.version-refused", OLD)]
#[case(Fault::NeedsAVersion, "http.version-absent", OLD)]
#[case(Fault::IgnoresMismatches, "http.version-mismatch", NEW)]
#[case(Fault::RefusesVersionsOtherwise, "http.version-unknown", NEW)]
#[case(Fault::FindsEveryMethod, "http.unknown-method", NEW)]
fn a_fault_of_http_fails_the_row_that_it_breaks(
    #[case] fault: Fault,
    #[case] row: &str,
    #[case] version: Version,
) {
    let found = judge(fault, |id| id.starts_with("http.") || id == row, version);
    let failed: Vec<&str> = found
        .protocol
        .iter()
        .filter(|judged| matches!(judged.outcome, Outcome::Failed(_)))
        .map(|judged| judged.row.as_str())
        .collect();
    assert!(failed.contains(&row), "{fault:?} survives {row}: {:?}", found.protocol);
}

/// A reader can see which headers were sent and what HTTP answered.
#[test]
fn a_transcript_shows_the_headers() {
    let found = judge(Fault::FindsEveryMethod, |id| id == "messages.unknown-method-modern", NEW);
    let [judged] = found.protocol.as_slice() else { panic!("{:?}", found.protocol) };
    assert!(matches!(judged.outcome, Outcome::Failed(_)), "{:?}", judged.outcome);
    let told = |wanted: &str| judged.transcript.iter().any(|line| line.text.starts_with(wanted));
    assert!(told("HTTP POST, mcp-protocol-version: 2026-07-28, mcp-method: "), "{:?}", judged.transcript);
    assert!(told("HTTP status 200, content-type: application/json"), "{:?}", judged.transcript);
}

#[rstest]
#[case(OLD, 40)]
#[case(NEW, 40)]
fn a_server_behind_an_address_that_keeps_every_rule_fails_no_row(
    #[case] version: Version,
    #[case] passed_min: usize,
) {
    let found = judge(Fault::None, |_| true, version);
    assert!(found.about.unreachable.is_none(), "{:?}", found.about);
    let levels = conformance::rows().expect("the rows");
    let must = |row: &str| levels.iter().any(|one| one.row.id == row && one.row.level == Level::Must);
    let mut bad = Vec::new();
    let mut passed = 0;
    for judged in &found.protocol {
        match &judged.outcome {
            Outcome::Passed => passed += 1,
            Outcome::NotApplicable(_) => {}
            other => bad.push(format!("{} (must: {}): {other:?}", judged.row, must(&judged.row))),
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
    assert!(passed >= passed_min, "only {passed} rows were passed in {version}");
    let web = found.protocol.iter().filter(|judged| judged.row.starts_with("http."));
    let silent: Vec<_> = web.filter(|judged| judged.outcome != Outcome::Passed).collect();
    assert!(silent.is_empty(), "{silent:?}");
}

#[test]
fn a_server_behind_an_address_has_no_stdout_to_keep_clean() {
    let found = judge(Fault::AnswersNotifications, |id| id.starts_with("stdio.o"), OLD);
    assert_eq!(found.protocol.len(), 2);
    for judged in &found.protocol {
        assert!(
            matches!(&judged.outcome, Outcome::NotApplicable(reason) if reason.contains("about pipes")),
            "{judged:?}"
        );
    }
}

#[test]
fn a_server_that_wants_a_token_is_named_and_judged_with_it() {
    let wants = with_server(Fault::WantsAToken, &[], async |address| {
        conformance::authorization_wanted(&address).await
    });
    let wants = wants.expect("it wants a token");
    assert!(
        wants.contains("by OAuth") && wants.contains("status 401") && wants.contains("--bearer-env"),
        "{wants}"
    );
    let header = |value: &str| [("Authorization".to_owned(), value.to_owned())];
    let refused = with_server(Fault::WantsAToken, &header("Bearer another"), async |address| {
        conformance::authorization_wanted(&address).await
    });
    assert!(
        refused.is_some_and(|told| told.contains("refuses the `Authorization`") && !told.contains("another"))
    );
    let found = with_server(Fault::WantsAToken, &header(BEARER), async |address| {
        assert_eq!(conformance::authorization_wanted(&address).await, None);
        let rows = conformance::rows().expect("the rows").into_iter();
        let plan = Plan {
            target: Target::Url(address),
            name: None,
            wishes: Arc::new(Wishes::default()),
            rows: rows.filter(|placed| placed.row.id.starts_with("http.")).collect(),
            versions: vec![OLD],
            full: true,
            named: false,
            demanded: true,
            hosts: Vec::new(),
            at_once: 16,
        };
        conformance::judge(&plan, &|_| {}, &conformance::Stop::default()).await
    });
    let passed = found.protocol.iter().filter(|judged| judged.outcome == Outcome::Passed).count();
    assert!(passed > 5, "{:?}", found.protocol);
    assert!(found.protocol.iter().all(|judged| !matches!(judged.outcome, Outcome::Failed(_))));
}
