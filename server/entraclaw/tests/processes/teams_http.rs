//! The production transport and the whole program against a Graph over real HTTP.

#![expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "real sockets live in real time")]

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use entraclaw_microsoft::http::{HttpRequest, HttpTransport, Method, ReqwestTransport, TransportError};
use entraclaw_seams::clock::{Clock, SystemClock};
use entraclaw_seams::random::SplitMix;
use entraclaw_seams::storage::MemoryStorage;
use entraclaw_session::app::{self, App};
use entraclaw_session::config::{Config, Sources};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use wiremock::matchers::{method, path, path_regex};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

const TENANT: &str = "aaaaaaaa-0000-0000-0000-000000000001";
const ALICE: &str = "bbbbbbbb-0000-0000-0000-00000000000a";
const AGENT: &str = "bbbbbbbb-0000-0000-0000-00000000000c";
const CHAT: &str = "19:alice_agent@unq.gbl.spaces";

fn get(url: String) -> HttpRequest {
    HttpRequest { method: Method::Get, url, headers: vec![("x-test".to_owned(), "1".to_owned())], body: None }
}

#[tokio::test]
async fn a_request_gets_its_whole_answer() {
    let graph = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1.0/x"))
        .respond_with(ResponseTemplate::new(201).insert_header("Request-Id", "r-1").set_body_string("yes"))
        .mount(&graph)
        .await;
    let request = HttpRequest {
        method: Method::Post,
        body: Some(b"{}".to_vec()),
        ..get(format!("{}/v1.0/x", graph.uri()))
    };
    let answer = ReqwestTransport::new(true).send(request).await.unwrap();
    assert_eq!(
        (answer.status, answer.header("request-id"), &answer.body[..]),
        (201, Some("r-1"), &b"yes"[..])
    );
    let seen = graph.received_requests().await.unwrap();
    assert_eq!(seen[0].body, b"{}");
    assert!(seen[0].headers.contains_key("accept-encoding"));
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let graph = MockServer::start().await;
    Mock::given(method("GET"))
        .respond_with(ResponseTemplate::new(302).insert_header("Location", "http://127.0.0.1:9/"))
        .mount(&graph)
        .await;
    let answer = ReqwestTransport::new(true).send(get(format!("{}/x", graph.uri()))).await.unwrap();
    assert_eq!(answer.status, 302);
}

#[tokio::test]
async fn a_refused_connection_differs_from_a_broken_answer() {
    let refused = ReqwestTransport::new(true).send(get("http://127.0.0.1:9/x?secret=1".to_owned())).await;
    let error = refused.unwrap_err();
    assert!(matches!(error, TransportError::Connect { .. }), "{error}");
    assert!(!error.to_string().contains("secret"), "{error}");

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/x", listener.local_addr().unwrap());
    let transport = ReqwestTransport::new(true);
    let serve = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort").await.unwrap();
    };
    let (broken, ()) = tokio::join!(transport.send(get(url)), serve);
    assert!(matches!(broken.unwrap_err(), TransportError::Broken { .. }));
}

/// One chat over HTTP; messages are added by the test.
#[derive(Clone, Default)]
struct Chat(Arc<Mutex<Vec<Value>>>);

impl Respond for Chat {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        assert_eq!(request.headers["authorization"], "Bearer secret-token");
        let mut messages = self.0.lock().unwrap();
        if request.method.as_str() == "POST" {
            let body: Value = serde_json::from_slice(&request.body).unwrap();
            let message = message(AGENT, &body["body"], messages.len());
            messages.push(message.clone());
            return ResponseTemplate::new(201).set_body_json(message);
        }
        if request.url.path().ends_with("/me") {
            return ResponseTemplate::new(200).set_body_json(json!({"id": AGENT}));
        }
        if request.url.path().ends_with("/messages") {
            let newest_first: Vec<_> = messages.iter().rev().collect();
            return ResponseTemplate::new(200).set_body_json(json!({"value": newest_first}));
        }
        let row = json!({"id": CHAT, "chatType": "oneOnOne", "lastMessagePreview": messages.last()});
        ResponseTemplate::new(200).set_body_json(json!({"value": [row]}))
    }
}

fn message(who: &str, body: &Value, number: usize) -> Value {
    let now = SystemClock.now().to_string();
    json!({
        "id": number.to_string(), "messageType": "message", "createdDateTime": now, "lastModifiedDateTime": now,
        "from": {"user": {"id": who, "tenantId": TENANT, "displayName": "Alice"}}, "body": body
    })
}

#[tokio::test(flavor = "current_thread")]
async fn a_message_over_http_reaches_a_waiting_call_and_is_answered() {
    let graph = MockServer::start().await;
    let chat = Chat::default();
    Mock::given(path_regex("^/v1.0/")).respond_with(chat.clone()).mount(&graph).await;
    let environment = [
        ("ENTRACLAW_GRAPH_URL", graph.uri()),
        ("ENTRACLAW_ACCESS_TOKEN", "secret-token".to_owned()),
        ("ENTRACLAW_TEAMS_POLL_INTERVAL", "50ms".to_owned()),
        ("ENTRACLAW_ALLOW", format!("{TENANT}/{ALICE}")),
    ];
    let environment = environment.map(|(name, value)| (name.to_owned(), value)).into();
    let config = Config::load(&Sources { environment, ..Sources::default() }).unwrap();
    let app = App::new(
        config,
        Arc::new(SystemClock),
        Arc::new(SplitMix::from_os()),
        Arc::new(MemoryStorage::new()),
        Arc::new(ReqwestTransport::new(true)),
    );
    let status = app.teams_status.clone();
    let (host, server) = tokio::io::duplex(64 * 1024);
    let (reader, writer) = tokio::io::split(server);
    let (from_server, mut to_server) = tokio::io::split(host);
    let mut lines = BufReader::new(from_server).lines();
    let session = async {
        let ask = |id: u64, method: &str, params: Value| {
            format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
        };
        let hello = json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}
        });
        to_server.write_all(ask(1, "initialize", hello).as_bytes()).await.unwrap();
        lines.next_line().await.unwrap();
        to_server
            .write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")
            .await
            .unwrap();
        while status.get().answered_at.is_none() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let wait = json!({"name": "wait_for_inbound_message", "arguments": {"timeout_s": 10}});
        to_server.write_all(ask(2, "tools/call", wait).as_bytes()).await.unwrap();
        let body = json!({"contentType": "html", "content": "<p>Is 3 &lt; 4?</p>"});
        let begun = Instant::now();
        {
            let mut messages = chat.0.lock().unwrap();
            let number = messages.len();
            messages.push(message(ALICE, &body, number));
        }
        let answer = answer_to(&mut lines, 2).await;
        assert!(answer.contains("Is 3 &lt; 4?") && answer.contains(ALICE), "{answer} {:?}", status.get());
        assert!(begun.elapsed() < Duration::from_secs(5));
        let send =
            json!({"name": "send_teams_message", "arguments": {"chat_id": CHAT, "content": "<p>yes</p>"}});
        to_server.write_all(ask(3, "tools/call", send).as_bytes()).await.unwrap();
        let answer = answer_to(&mut lines, 3).await;
        assert!(answer.contains("\"message_id\":\"1\""), "{answer}");
    };
    tokio::select! {
        biased;
        exit = app::run(app, reader, writer) => panic!("the server ended: {exit:?}"),
        () = session => {}
    }
}

async fn answer_to<R: tokio::io::AsyncBufRead + Unpin>(lines: &mut tokio::io::Lines<R>, id: u64) -> String {
    loop {
        let line = lines.next_line().await.unwrap().expect("the server speaks");
        let message: Value = serde_json::from_str(&line).unwrap();
        if message["id"] == id {
            return message["result"]["content"][0]["text"].as_str().unwrap().to_owned();
        }
    }
}
