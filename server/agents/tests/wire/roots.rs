//! The folder in which an agent works: the one that the host tells, or else the server's.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::time::{sleep, timeout};

use crate::support::{Client, Machine};

impl Client {
    async fn line(&mut self, message: Value) {
        self.to.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    /// Opens a session of the older era.
    async fn open(&mut self, capabilities: Value) {
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": capabilities,
            "clientInfo": {"name": "x", "version": "1"}
        });
        self.line(json!({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": params})).await;
        assert_eq!(self.answer().await["id"], "i");
        // Nothing is asked before the client is ready.
        self.silent().await;
        self.line(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    }

    /// The id of the request for its folders, which comes now.
    async fn asked(&mut self) -> Value {
        let request = self.answer().await;
        assert_eq!(request["method"], "roots/list", "{request}");
        request["id"].clone()
    }

    async fn tells(&mut self, id: &Value, uris: &[&str]) {
        let roots: Vec<Value> = uris.iter().map(|uri| json!({"uri": uri})).collect();
        self.line(json!({"jsonrpc": "2.0", "id": id, "result": {"roots": roots}})).await;
    }

    async fn silent(&mut self) {
        let read = timeout(Duration::from_millis(50), self.lines.next_line()).await;
        assert!(read.is_err(), "{read:?}");
    }

    /// The folder of a question, and how long the question waited for it.
    async fn folder(&mut self, machine: &Machine) -> (String, Duration) {
        let began = tokio::time::Instant::now();
        let call = json!({"name": "ask", "arguments": {"prompt": "1"}});
        self.line(json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call})).await;
        let mut id = None;
        while id.is_none() {
            sleep(Duration::from_millis(10)).await;
            id = machine.try_start();
        }
        let waited = began.elapsed();
        assert_eq!(self.answer().await["id"], 7);
        let folder = machine.look(&id.unwrap()).request.ask.what["folder"].clone();
        (folder.as_str().unwrap().to_owned(), waited)
    }
}

const SERVERS: &str = "/";
const AT_ONCE: Duration = Duration::from_millis(100);

#[tokio::test(start_paused = true)]
async fn the_first_folder_that_exists_is_the_agents() {
    let machine = Machine::new();
    let mut client = machine.connect();
    client.open(json!({"roots": {"listChanged": true}})).await;
    let id = client.asked().await;
    let uris =
        ["https://contoso.com/x", "file:///gone", "file:///home/alice/my%20project", "file:///home/alice"];
    client.tells(&id, &uris).await;
    assert_eq!(client.folder(&machine).await.0, "/home/alice/my project");
    // Another folder, and a late answer to the first question.
    client.line(json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})).await;
    let next = client.asked().await;
    assert_ne!(next, id);
    client.tells(&id, &["file:///home/alice/late"]).await;
    client.tells(&next, &["file:///home/alice/other"]).await;
    let (folder, waited) = client.folder(&machine).await;
    assert_eq!((folder.as_str(), waited <= AT_ONCE), ("/home/alice/other", true));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_tell_keeps_no_question_waiting() {
    let machine = Machine::new();
    let mut client = machine.connect();
    client.open(json!({"roots": {}})).await;
    let id = client.asked().await;
    let (folder, waited) = client.folder(&machine).await;
    assert_eq!(folder, SERVERS);
    assert!(waited >= Duration::from_secs(1) && waited < Duration::from_secs(2), "{waited:?}");
    // After some time it is not waited for any more, and a late answer changes nothing.
    sleep(Duration::from_secs(10)).await;
    client.tells(&id, &["file:///home/alice/late"]).await;
    let (folder, waited) = client.folder(&machine).await;
    assert_eq!((folder.as_str(), waited <= AT_ONCE), (SERVERS, true));
}

#[tokio::test(start_paused = true)]
async fn an_answer_while_a_question_waits_is_used() {
    let machine = Machine::new();
    let mut client = machine.connect();
    client.open(json!({"roots": {}})).await;
    let id = client.asked().await;
    let call = json!({"name": "ask", "arguments": {"prompt": "1"}});
    client.line(json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call})).await;
    sleep(Duration::from_millis(500)).await;
    assert_eq!(machine.try_start(), None);
    client.tells(&id, &["file:///home/alice"]).await;
    sleep(Duration::from_millis(10)).await;
    assert_eq!(machine.look(&machine.start()).request.ask.what["folder"], "/home/alice");
}

#[tokio::test(start_paused = true)]
async fn an_error_or_nonsense_leaves_the_servers_folder() {
    for answer in [
        json!({"error": {"code": -32601, "message": "no"}}),
        json!({"result": {"roots": [{"uri": 5}, {}, "file:///home/alice"]}}),
        json!({"result": []}),
        json!({"result": {"roots": [{"uri": format!("file:///home/alice/{}", "x".repeat(10_000))}]}}),
    ] {
        let machine = Machine::new();
        let mut client = machine.connect();
        client.open(json!({"roots": {}})).await;
        let mut message = answer.clone();
        message["jsonrpc"] = "2.0".into();
        message["id"] = client.asked().await;
        client.line(message).await;
        // Answers to nothing are ignored.
        client.tells(&json!("server-99"), &["file:///home/alice"]).await;
        client.tells(&json!(1), &["file:///home/alice"]).await;
        let (folder, waited) = client.folder(&machine).await;
        assert_eq!((folder.as_str(), waited <= AT_ONCE), (SERVERS, true), "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_declares_no_folders_is_not_asked() {
    let machine = Machine::new();
    let mut client = machine.connect();
    client.open(json!({})).await;
    client.line(json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})).await;
    client.silent().await;
    assert_eq!(client.folder(&machine).await, (SERVERS.to_owned(), Duration::from_millis(10)));
}
