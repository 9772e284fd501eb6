//! The same fake behind real HTTP.

use fake_microsoft::graph::{
    DELAY_MAX_MS, FakeGraph, FaultAction, FaultSpec, GraphServer, MessageSpec, Operation, SharedGraph, serve,
    wiremock_skin,
};
use serde_json::{Value, json};

use crate::bench::{Bench, TOKEN, at, next_link};

fn client() -> reqwest::Client {
    // The client is built with a TLS stack even though only plain HTTP is spoken here.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().build().expect("the client can be built")
}

async fn start() -> GraphServer {
    serve(SharedGraph::new(Bench::new().graph), || at(1000))
        .await
        .expect("the server's own address is an origin")
}

fn dm(server: &GraphServer, rest: &str) -> String {
    let id = server.fake.with(|graph: &mut FakeGraph| graph.chat_id("dm").map(str::to_owned)).unwrap();
    format!("{}/v1.0/chats/{id}{rest}", server.base_url())
}

#[tokio::test]
async fn pages_headers_and_errors_are_those_of_the_state_machine() {
    let (server, client) = (start().await, client());
    for n in 0..5 {
        server
            .fake
            .with(|graph| graph.post(at(n), "dm", "alice", &MessageSpec::html("hello")).map(drop))
            .unwrap();
    }
    let mut link = Some(dm(&server, "/messages?$top=2"));
    let mut seen = 0;
    while let Some(url) = link.take() {
        assert!(url.starts_with(&server.base_url()), "{url}");
        let answer =
            client.get(url).bearer_auth(TOKEN).header("client-request-id", "c-1").send().await.unwrap();
        assert_eq!(
            (answer.status().as_u16(), answer.headers()["client-request-id"].to_str().unwrap()),
            (200, "c-1")
        );
        assert!(answer.headers()["content-type"].to_str().unwrap().starts_with("application/json"));
        let page: Value = serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap();
        seen += page["value"].as_array().unwrap().len();
        link = next_link(&page);
    }
    assert_eq!(seen, 5);
    let answer = client.get(dm(&server, "/messages")).send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 401);
    assert!(answer.headers().contains_key("www-authenticate"));
    let answer = client
        .post(dm(&server, "/messages"))
        .bearer_auth(TOKEN)
        .header("content-type", "application/json")
        .body(json!({"body": {"contentType": "html", "content": "<p>hi</p>"}}).to_string())
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status().as_u16(), 201);
    assert_eq!(server.fake.with(|graph| graph.messages_sent_by_agent().len()), 1);
}

#[tokio::test]
async fn large_bodies_are_compressed_for_those_who_ask() {
    let (server, client) = (start().await, client());
    let text = "entraclaw ".repeat(2000);
    server.fake.with(|graph| graph.post(at(0), "dm", "alice", &MessageSpec::html(&text)).map(drop)).unwrap();
    // The client takes the coding header away when it decodes, so a second one looks at the wire.
    let page: Value = serde_json::from_slice(
        &client.get(dm(&server, "/messages")).bearer_auth(TOKEN).send().await.unwrap().bytes().await.unwrap(),
    )
    .unwrap();
    assert_eq!(page["value"][0]["body"]["content"], text.as_str());
    let raw = reqwest::Client::builder().no_proxy().no_gzip().build().unwrap();
    let zipped = raw
        .get(dm(&server, "/messages"))
        .bearer_auth(TOKEN)
        .header("accept-encoding", "gzip")
        .send()
        .await
        .unwrap();
    assert_eq!(zipped.headers()["content-encoding"], "gzip");
    assert!(zipped.bytes().await.unwrap().starts_with(&[0x1f, 0x8b]));
    let plain = raw.get(dm(&server, "/messages")).bearer_auth(TOKEN).send().await.unwrap();
    assert!(!plain.headers().contains_key("content-encoding"));
}

#[tokio::test]
async fn a_broken_connection_has_no_answer() {
    let (server, client) = (start().await, client());
    let post = async |server: &GraphServer| {
        client
            .post(dm(server, "/messages"))
            .bearer_auth(TOKEN)
            .body(r#"{"body":{"content":"x"}}"#)
            .send()
            .await
    };
    for (action, sent) in [(FaultAction::ResetBeforeApply, 0), (FaultAction::ResetAfterApply, 1)] {
        server.fake.with(|graph| {
            graph.clear_faults();
            graph.add_fault(FaultSpec::on(Operation::SendMessage, action.clone()).first(1)).unwrap();
        });
        let error = post(&server).await.expect_err("the connection is closed without an answer");
        assert!(!error.is_connect() && !error.is_timeout(), "{error:?}");
        assert_eq!(server.fake.with(|graph| graph.messages_sent_by_agent().len()), sent, "{action:?}");
    }
    assert_eq!(post(&server).await.unwrap().status().as_u16(), 201);
}

#[tokio::test]
async fn a_slow_answer_is_cut_to_the_bound() {
    let (server, client) = (start().await, client());
    server
        .fake
        .with(|graph| graph.add_fault(FaultSpec::always(FaultAction::Slow { delay_ms: 3_600_000 })))
        .unwrap();
    let started = tokio::time::Instant::now();
    let answer = client.get(dm(&server, "/messages")).bearer_auth(TOKEN).send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 200);
    let took = u64::try_from(started.elapsed().as_millis()).unwrap();
    assert!((DELAY_MAX_MS - 5..10_000).contains(&took), "{took} ms");
}

#[tokio::test]
async fn the_responder_alone_answers_too() {
    let graph = SharedGraph::new(Bench::new().graph);
    let server = wiremock::MockServer::start().await;
    let skin = wiremock_skin(graph.clone(), || at(0));
    wiremock::Mock::given(wiremock::matchers::any()).respond_with(skin).mount(&server).await;
    let get =
        async || client().get(format!("{}/v1.0/me", server.uri())).bearer_auth(TOKEN).send().await.unwrap();
    assert_eq!(get().await.status().as_u16(), 200);
    graph.with(|graph| graph.add_fault(FaultSpec::always(FaultAction::ResetAfterApply))).unwrap();
    assert_eq!(get().await.status().as_u16(), 502);
}
