//! Checks what a provider gets from the connection, with the toy: lists in both eras, progress, time, cancellation.

mod toy;

use entraclaw_mcp::{Begun, Call, Connection, Exit, Offers, Options, Provider, Refusal, serve};
use rmcp::model::Prompt;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::task::JoinHandle;
use tokio::time::{Duration, Instant};

struct Host {
    to: WriteHalf<DuplexStream>,
    from: Lines<BufReader<ReadHalf<DuplexStream>>>,
    server: JoinHandle<Exit>,
}

impl Host {
    /// A host of this name that has sent `initialize`.
    async fn met(client: &str) -> Self {
        Self::met_by(Options::default(), client, json!({})).await
    }

    async fn met_by(options: Options, client: &str, capabilities: Value) -> Self {
        Self::met_with(Box::new(toy::Toy), options, client, capabilities).await
    }

    async fn met_with(
        provider: Box<dyn Provider>,
        options: Options,
        client: &str,
        capabilities: Value,
    ) -> Self {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (reader, writer) = tokio::io::split(theirs);
        let server = tokio::spawn(serve(options, vec![provider], reader, writer));
        let (from, to) = tokio::io::split(ours);
        let mut host = Self { to, from: BufReader::new(from).lines(), server };
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": client, "version": "1"}});
        host.ask(0, "initialize", params).await;
        host.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        host
    }

    async fn say(&mut self, message: &Value) {
        self.to.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn send(&mut self, id: u64, method: &str, params: Value) {
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
    }

    async fn read(&mut self) -> Value {
        serde_json::from_str(&self.from.next_line().await.unwrap().unwrap()).unwrap()
    }

    /// The answer to a request, with the messages before it.
    async fn ask_all(&mut self, id: u64, method: &str, params: Value) -> (Vec<Value>, Value) {
        self.send(id, method, params).await;
        let mut said = Vec::new();
        loop {
            let line = self.read().await;
            if line["id"] == id {
                return (said, line);
            }
            said.push(line);
        }
    }

    async fn ask(&mut self, id: u64, method: &str, params: Value) -> Value {
        self.ask_all(id, method, params).await.1
    }
}

fn modern() -> Value {
    json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}})
}

fn count_down(seconds: u64) -> Value {
    json!({"name": "count_down", "arguments": {"seconds": seconds}, "_meta": {"progressToken": "p"}})
}

#[tokio::test(start_paused = true)]
async fn every_offer_is_listed_and_found_in_both_eras() {
    let mut host = Host::met("vscode").await;
    for params in [json!({}), modern()] {
        for (id, (method, member, names)) in [
            ("tools/list", "tools", json!(["count_down", "greet", "pour"])),
            ("resources/list", "resources", json!(["rules"])),
            ("resources/templates/list", "resourceTemplates", json!(["game"])),
            ("prompts/list", "prompts", json!(["play"])),
        ]
        .into_iter()
        .enumerate()
        {
            let answer = host.ask(id as u64, method, params.clone()).await;
            let listed = answer["result"][member].as_array().unwrap().iter().map(|item| item["name"].clone());
            assert_eq!(Value::Array(listed.collect()), names, "{method}");
        }
        let with = |more: Value| {
            let mut params = params.clone();
            params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            params
        };
        let read = host.ask(10, "resources/read", with(json!({"uri": "toy://games/7"}))).await;
        assert_eq!(read["result"]["contents"][0]["text"], "game 7");
        let unknown = host.ask(11, "resources/read", with(json!({"uri": "toy://none"}))).await;
        assert!(unknown["error"]["message"].as_str().unwrap().contains("there is toy://rules"));
        let prompt = host.ask(12, "prompts/get", with(json!({"name": "play"}))).await;
        assert_eq!(prompt["result"]["messages"][0]["role"], "user");
        let called = host.ask(13, "tools/call", with(json!({"name": "greet"}))).await;
        assert_eq!(called["result"]["content"][0]["text"], "{\"said\":\"hello\"}\n");
        let wrong = host.ask(14, "prompts/get", with(json!({"name": "pley"}))).await;
        assert!(wrong["error"]["message"].as_str().unwrap().contains("there are play"));
    }
    let discovered = host.ask(20, "server/discover", modern()).await;
    assert_eq!(discovered["result"]["capabilities"]["prompts"], json!({"listChanged": false}));
    assert_eq!(discovered["result"]["instructions"], "Play when you are asked to.");
}

/// It lists a prompt, and that is all.
struct Promising;

impl Provider for Promising {
    fn offers(&self) -> Offers {
        Offers { prompts: vec![Prompt::new("sing", Some("Begins a song."), None)], ..Offers::default() }
    }

    fn call(&mut self, _: Call<'_>, _: &mut Connection) -> Result<Begun, Refusal> {
        unreachable!("it offers no tool")
    }
}

#[tokio::test(start_paused = true)]
async fn a_prompt_that_its_provider_lists_and_does_not_have_is_an_error() {
    let mut host = Host::met_with(Box::new(Promising), Options::default(), "vscode", json!({})).await;
    let answer = host.ask(1, "prompts/get", json!({"name": "sing"})).await;
    assert_eq!(answer["error"]["message"], "params.name: no prompt is named `sing`", "{answer}");
}

#[tokio::test(start_paused = true)]
async fn work_reports_progress_and_answers_before_the_host_gives_it_up() {
    let mut host = Host::met("opencode").await;
    let (said, answer) = host.ask_all(1, "tools/call", count_down(3)).await;
    let done: Vec<_> = said.iter().map(|step| step["params"]["progress"].clone()).collect();
    assert_eq!(done, [json!(1), json!(2), json!(3)], "{said:?}");
    assert_eq!(said[0]["params"]["total"], 3);
    assert_eq!(answer["result"]["content"][0]["text"], "{\"said\":\"hello\"}\n");
    let began = Instant::now();
    let answer = host.ask(2, "tools/call", count_down(600)).await;
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("toy-1"), "{text}");
    assert!(began.elapsed() < Duration::from_secs(60), "it outlasted a host that waits a minute");
}

#[tokio::test(start_paused = true)]
async fn a_call_without_any_tool_gets_the_configured_reason() {
    let options = Options {
        left_out_sets: ["toy"].into(),
        why_no_tools: ", for the toy is put away",
        ..Options::default()
    };
    let mut host = Host::met_by(options, "vscode", json!({})).await;
    let answer = host.ask(1, "tools/call", json!({"name": "greet"})).await;
    let expected = "params.name: no tool is named `greet`; there is none, for the toy is put away";
    assert_eq!(answer["error"]["message"], expected);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_stops_and_gets_no_answer() {
    let mut host = Host::met("vscode").await;
    host.send(1, "tools/call", count_down(40)).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    host.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}))
        .await;
    let (said, _) = host.ask_all(2, "ping", json!({})).await;
    assert!(said.iter().all(|line| line["method"] == "notifications/progress"), "{said:?}");
    tokio::time::sleep(Duration::from_secs(60)).await;
    let (said, _) = host.ask_all(3, "ping", json!({})).await;
    assert_eq!(said, Vec::<Value>::new(), "a cancelled call sends nothing");
    drop(host.to);
    drop(host.from);
    assert!(matches!(host.server.await.unwrap(), Exit::InputClosed | Exit::OutputClosed));
}

fn pour() -> Value {
    json!({"name": "pour", "arguments": {"seconds": 30}})
}

fn poured(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap().trim_end()
}

#[tokio::test(start_paused = true)]
async fn the_user_of_a_client_with_forms_permits_or_does_not() {
    for capabilities in [json!({"elicitation": {}}), json!({"elicitation": {"form": {}, "url": {}}})] {
        let mut host = Host::met_by(Options::default(), "vscode", capabilities).await;
        for (number, result, expected) in [
            (1, json!({"action": "accept", "content": {"permit": true}}), true),
            (2, json!({"action": "accept", "content": {"permit": false}}), false),
            (3, json!({"action": "decline"}), false),
        ] {
            host.send(number, "tools/call", pour()).await;
            let form = host.read().await;
            assert_eq!(form["method"], "elicitation/create");
            assert_eq!(form["params"]["message"], "Pour the water?");
            assert_eq!(form["params"]["requestedSchema"]["properties"]["permit"]["title"], "Pour");
            // An answer to another request is none to this one.
            host.say(&json!({"jsonrpc": "2.0", "id": "server-99", "result": {"action": "accept"}})).await;
            host.say(&json!({"jsonrpc": "2.0", "id": form["id"], "result": result})).await;
            let answer = host.read().await;
            assert_eq!(answer["id"], number);
            assert_eq!(poured(&answer), format!(r#"{{"can_be_asked":true,"poured":{expected}}}"#));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_form_without_an_answer_is_taken_back() {
    let forms = json!({"elicitation": {"form": {}}});
    let mut host = Host::met_by(Options::default(), "vscode", forms).await;
    host.send(1, "tools/call", pour()).await;
    let form = host.read().await;
    let taken_back = host.read().await;
    assert_eq!(taken_back["method"], "notifications/cancelled");
    assert_eq!(taken_back["params"]["requestId"], form["id"]);
    assert_eq!(poured(&host.read().await), r#"{"can_be_asked":true,"poured":false}"#);
    // A host that does not know the method answers with an error.
    host.send(2, "tools/call", pour()).await;
    let form = host.read().await;
    let error = json!({"code": -32601, "message": "elicitation/create"});
    host.say(&json!({"jsonrpc": "2.0", "id": form["id"], "error": error})).await;
    assert_eq!(poured(&host.read().await), r#"{"can_be_asked":true,"poured":false}"#);
}

/// A call of the newer era by a client that shows forms.
fn modern_pour(more: &Value) -> Value {
    let mut params = pour();
    params.as_object_mut().unwrap().extend(modern().as_object().unwrap().clone());
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
        json!({"elicitation": {"form": {}, "url": {}}});
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    params
}

#[tokio::test(start_paused = true)]
async fn in_the_newer_era_the_answer_says_what_the_call_needs_and_the_call_comes_again() {
    let mut host = Host::met("vscode").await;
    for (number, result, expected) in [
        (1, json!({"action": "accept", "content": {"permit": true}}), true),
        (3, json!({"action": "accept", "content": {"permit": false}}), false),
        (5, json!({"action": "decline"}), false),
    ] {
        let (said, needs) = host.ask_all(number, "tools/call", modern_pour(&json!({}))).await;
        assert_eq!(said, Vec::<Value>::new());
        assert_eq!(needs["result"]["resultType"], "input_required");
        let asked = &needs["result"]["inputRequests"]["permit"];
        assert_eq!(
            (&asked["method"], &asked["params"]["mode"]),
            (&json!("elicitation/create"), &json!("form"))
        );
        assert_eq!(asked["params"]["message"], "Pour the water?");
        // A person takes their time.
        tokio::time::sleep(Duration::from_secs(20)).await;
        let again =
            json!({"requestState": needs["result"]["requestState"], "inputResponses": {"permit": result}});
        let answer = host.ask(number + 1, "tools/call", modern_pour(&again)).await;
        assert_eq!(answer["result"]["resultType"], "complete");
        assert_eq!(poured(&answer), format!(r#"{{"can_be_asked":true,"poured":{expected}}}"#));
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_ready_first_waits_for_the_client_and_no_call_is_begun_twice() {
    let mut host = Host::met("vscode").await;
    let needs = host.ask(1, "tools/call", modern_pour(&json!({}))).await;
    let state = needs["result"]["requestState"].clone();
    let yes = json!({"permit": {"action": "accept", "content": {"permit": true}}});
    // The work waits for 30 s and then answers without a word.
    tokio::time::sleep(Duration::from_secs(40)).await;
    let again = json!({"requestState": state, "inputResponses": yes});
    let answer = host.ask(2, "tools/call", modern_pour(&again)).await;
    assert_eq!(poured(&answer), r#"{"can_be_asked":true,"poured":false}"#);
    let twice = host.ask(3, "tools/call", modern_pour(&again)).await;
    assert!(poured(&twice).contains("no call waits for this"), "{twice}");
    let needs = host.ask(4, "tools/call", modern_pour(&json!({}))).await;
    tokio::time::sleep(Duration::from_secs(200)).await;
    let late = json!({"requestState": needs["result"]["requestState"], "inputResponses": yes});
    let late = host.ask(5, "tools/call", modern_pour(&late)).await;
    assert!(poured(&late).contains("no call waits for this"), "{late}");
}

#[tokio::test(start_paused = true)]
async fn a_client_without_forms_is_never_asked() {
    for capabilities in [json!({}), json!({"elicitation": {"url": {}}})] {
        let mut host = Host::met_by(Options::default(), "vscode", capabilities).await;
        let mut params = pour();
        let (said, answer) = host.ask_all(1, "tools/call", params.clone()).await;
        assert_eq!(said, Vec::<Value>::new());
        assert_eq!(poured(&answer), r#"{"can_be_asked":false,"poured":false}"#);
        params.as_object_mut().unwrap().extend(modern().as_object().unwrap().clone());
        let (said, answer) = host.ask_all(2, "tools/call", params).await;
        assert_eq!(said, Vec::<Value>::new());
        assert_eq!(poured(&answer), r#"{"can_be_asked":false,"poured":false}"#);
    }
}
