//! The Agent Client Protocol, without a process: lines in, lines out, time by hand. The order of messages is that of runs
//! of copilot 1.0.102.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use fake_agents::{Acp, Act, Invocation, Outside, PathKind, Script, Signal};
use rstest::rstest;
use serde_json::{Value, json};

/// A store in memory.
#[derive(Default)]
struct Store(RefCell<BTreeMap<String, String>>);

impl Outside for Store {
    fn kind(&self, _path: &Path) -> PathKind {
        PathKind::Folder
    }

    fn stored(&self, path: &str) -> Option<String> {
        self.0.borrow().get(path).cloned()
    }

    fn list(&self, folder: &str) -> Vec<String> {
        let files = self.0.borrow();
        let mut found: Vec<_> = files
            .keys()
            .filter_map(|path| path.strip_prefix(folder)?.strip_prefix('/')?.split_once('/'))
            .map(|(name, _)| name.to_owned())
            .collect();
        found.dedup();
        found
    }
}

/// A client that drives the agent.
struct Client {
    acp: Acp,
    store: Store,
    now_ms: u64,
    requests: u64,
    /// Acts that are no output.
    others: Vec<Act>,
}

impl Client {
    fn new(answers: &str) -> Self {
        Self::with(answers, &["--acp"], Store::default())
    }

    fn with(answers: &str, argv: &[&str], store: Store) -> Self {
        let script = Script::parse("acp.yaml", &format!("agent: copilot\n{answers}")).unwrap();
        let argv = argv.iter().map(|&one| one.to_owned()).collect();
        let invocation =
            Invocation { argv, folder: "/work".into(), started_unix_ms: 1, ..Invocation::default() };
        let acp = Acp::new(&script, &invocation);
        Self { acp, store, now_ms: 0, requests: 0, others: Vec::new() }
    }

    fn took(&mut self, acts: Vec<Act>) -> Vec<Value> {
        let mut lines = String::new();
        for act in acts {
            match act {
                Act::Out(bytes) => lines.push_str(std::str::from_utf8(&bytes).unwrap()),
                Act::Store { path, text } => {
                    self.store.0.borrow_mut().entry(path).or_default().push_str(&text);
                }
                other => self.others.push(other),
            }
        }
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn send(&mut self, message: &Value) -> Vec<Value> {
        let acts = self.acp.on_line(self.now_ms, &message.to_string(), &self.store);
        self.took(acts)
    }

    fn request(&mut self, method: &str, params: Value) -> Vec<Value> {
        self.requests += 1;
        let mut message = json!({"jsonrpc": "2.0", "id": self.requests, "method": method});
        message["params"] = params;
        self.send(&message)
    }

    fn opens(&mut self) -> String {
        self.request("initialize", json!({"protocolVersion": 1}));
        let lines = self.request("session/new", json!({"cwd": "/work", "mcpServers": []}));
        let result = lines.iter().find(|line| line["result"].is_object()).unwrap();
        result["result"]["sessionId"].as_str().unwrap().to_owned()
    }

    fn prompt(&mut self, session: &str, text: &str) -> Vec<Value> {
        self.request(
            "session/prompt",
            json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]}),
        )
    }

    fn later(&mut self) -> Vec<Value> {
        self.now_ms = self.acp.due_ms().expect("something that is due");
        let acts = self.acp.on_time(self.now_ms);
        self.took(acts)
    }
}

/// The messages by kind, `=REASON` for an answer.
fn kinds(lines: &[Value]) -> Vec<String> {
    let kind = |line: &Value| {
        let update = line["params"]["update"]["sessionUpdate"].as_str();
        let reason = line["result"]["stopReason"].as_str().map(|reason| format!("={reason}"));
        let method = line["method"].as_str();
        update.map(str::to_owned).or(reason).or(method.map(str::to_owned)).unwrap_or_else(|| line.to_string())
    };
    lines.iter().map(kind).collect()
}

#[test]
fn a_prompt_is_answered_in_pieces() {
    let mut client = Client::new("answers: [{ says: The answer. }]");
    let session = client.opens();
    let first = client.prompt(&session, "hi");
    let chunks = ["agent_message_chunk", "agent_message_chunk", "=end_turn"];
    let begin = ["config_option_update", "session_info_update", "usage_update"];
    assert_eq!(kinds(&first), [begin.as_slice(), &chunks].concat());
    assert_eq!(kinds(&client.prompt(&session, "again")), [["usage_update"].as_slice(), &chunks].concat());
    assert_eq!(first[4]["params"]["update"]["content"], json!({"type": "text", "text": "answer."}));
}

#[test]
fn a_refusal_of_the_provider_looks_like_an_answer() {
    let mut client = Client::new("answers: [{ error: { status: 402, message: You have no quota } }]");
    let session = client.opens();
    let lines = client.prompt(&session, "hi");
    assert_eq!(kinds(&lines)[3..], ["agent_message_chunk", "=end_turn"]);
    assert_eq!(lines[3]["params"]["update"]["content"]["text"], "Error: 402 You have no quota");
    let events = client.store.stored(&format!("session-state/{session}/events.jsonl")).unwrap();
    assert!(
        events.contains("\"type\":\"session.error\"") && events.contains("\"statusCode\":402"),
        "{events}"
    );
}

#[rstest]
#[case(json!({"outcome": "selected", "optionId": "allow_once"}), &["tool_call_update", "tool_call_update", "usage_update", "agent_message_chunk", "agent_message_chunk", "=end_turn"])]
#[case(json!({"outcome": "selected", "optionId": "reject_once"}), &["tool_call_update", "agent_message_chunk", "=end_turn"])]
#[case(json!({"outcome": "cancelled"}), &["tool_call_update", "=end_turn"])]
fn a_permission_is_asked_for(#[case] outcome: Value, #[case] then: &[&str]) {
    let mut client = Client::new("answers: [{ tools: [{ name: bash, takes_ms: 100 }] }]");
    let session = client.opens();
    let lines = client.prompt(&session, "hi");
    assert_eq!(kinds(&lines)[3..], ["tool_call", "session/request_permission"]);
    let ask = lines.last().unwrap();
    assert_eq!(ask["id"], 0);
    let options = ask["params"]["options"].as_array().unwrap();
    let ids: Vec<_> = options.iter().map(|option| option["optionId"].as_str().unwrap()).collect();
    assert_eq!(ids, ["allow_once", "allow_always", "reject_once"]);
    assert_eq!(client.acp.due_ms(), None);
    let mut lines = client.send(&json!({"jsonrpc": "2.0", "id": 0, "result": {"outcome": outcome}}));
    if client.acp.due_ms().is_some() {
        lines.extend(client.later());
    }
    assert_eq!(kinds(&lines), then);
}

#[rstest]
#[case(&["--acp", "--allow-all-tools"], "{}", false)]
#[case(&["--acp"], "{}", true)]
#[case(&["--acp", "--allow-all-tools"], "{ asks_permission: true }", true)]
fn flags_decide_what_is_asked(#[case] argv: &[&str], #[case] more: &str, #[case] asks: bool) {
    let more = more.trim_matches(['{', '}']).trim();
    let more = if more.is_empty() { String::new() } else { format!(", {more}") };
    let answers = format!("answers: [{{ tools: [{{ name: bash }}]{more} }}]");
    let mut client = Client::with(&answers, argv, Store::default());
    let session = client.opens();
    let lines = client.prompt(&session, "hi");
    assert_eq!(kinds(&lines).contains(&"session/request_permission".to_owned()), asks);
}

#[test]
fn always_is_remembered_and_can_be_set() {
    let mut client = Client::new("answers: [{ tools: [{ name: bash }] }]");
    let session = client.opens();
    client.prompt(&session, "hi");
    let outcome = json!({"outcome": "selected", "optionId": "allow_always"});
    client.send(&json!({"jsonrpc": "2.0", "id": 0, "result": {"outcome": outcome}}));
    assert_eq!(kinds(&client.prompt(&session, "hi")).last().unwrap(), "=end_turn");
    let other = client.opens();
    client.request(
        "session/set_config_option",
        json!({"sessionId": other, "configId": "allow_all", "value": "on"}),
    );
    assert_eq!(kinds(&client.prompt(&other, "hi")).last().unwrap(), "=end_turn");
}

#[test]
fn a_cancel_ends_the_turn_at_once() {
    let mut client = Client::new("answers: [{ says: one two three, stream_every_ms: 100 }]");
    let session = client.opens();
    client.prompt(&session, "hi");
    assert_eq!(kinds(&client.later()), ["agent_message_chunk"]);
    let cancel = json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}});
    assert_eq!(kinds(&client.send(&cancel)), ["=cancelled"]);
    assert_eq!(client.acp.due_ms(), None);
    assert_eq!(kinds(&client.send(&cancel)), [""; 0]);
}

#[test]
fn a_second_prompt_cancels_the_first() {
    let mut client = Client::new("answers: [{ when: { contains: hang }, hangs: true }, { says: x }]");
    let session = client.opens();
    client.prompt(&session, "hang");
    let lines = client.prompt(&session, "hi");
    assert_eq!(kinds(&lines), ["=cancelled", "usage_update", "agent_message_chunk", "=end_turn"]);
    assert_eq!((lines[0]["id"].as_u64(), lines[3]["id"].as_u64()), (Some(3), Some(4)));
}

#[test]
fn sessions_run_beside_each_other() {
    let mut client = Client::new("answers: [{ says: one two, stream_every_ms: 100 }]");
    let (first, second) = (client.opens(), client.opens());
    client.prompt(&first, "hi");
    client.now_ms = 50;
    client.prompt(&second, "hi");
    assert_eq!(client.acp.due_ms(), Some(100));
    let mut ends = Vec::new();
    while client.acp.due_ms().is_some() {
        ends.extend(client.later().into_iter().filter_map(|line| line["id"].as_u64()));
    }
    assert_eq!((ends, client.now_ms), (vec![5, 6], 250));
}

#[test]
fn a_new_process_loads_a_session() {
    let mut client = Client::new("answers: [{ says: x }]");
    let session = client.opens();
    client.prompt(&session, "hi");
    let load = json!({"sessionId": session, "cwd": "/work", "mcpServers": []});
    let again = client.request("session/load", load.clone());
    assert_eq!(again[0]["error"]["code"], -32602);
    let mut client = Client::with("answers: [{ says: other }]", &["--acp"], client.store);
    let lines = client.request("session/load", load);
    assert_eq!(kinds(&lines)[..2], ["user_message_chunk", "agent_message_chunk"]);
    assert!(lines.iter().any(|line| line["id"] == 1 && line["result"]["modes"].is_object()));
    let listed = client.request("session/list", json!({"cwd": "/work"}));
    assert_eq!(listed[0]["result"]["sessions"][0]["title"], "hi");
    assert_eq!(client.request("session/list", json!({"cwd": "/x"}))[0]["result"]["sessions"], json!([]));
}

#[rstest]
#[case("session/load", json!({"sessionId": "nope", "cwd": "/work"}), -32002)]
#[case("session/prompt", json!({"sessionId": "nope", "prompt": []}), -32602)]
#[case("session/close", json!({"sessionId": "nope"}), -32002)]
#[case("session/new", json!({}), -32602)]
#[case("bogus/x", json!({}), -32601)]
fn what_is_wrong_is_an_error(#[case] method: &str, #[case] params: Value, #[case] code: i64) {
    assert_eq!(Client::new("").request(method, params)[0]["error"]["code"], code);
}

#[test]
fn without_a_login_a_session_is_refused_and_not_the_handshake() {
    let mut client = Client::new("signed_in: false");
    assert_eq!(client.request("initialize", json!({}))[0]["result"]["protocolVersion"], 1);
    let lines = client.request("session/new", json!({"cwd": "/work"}));
    assert_eq!(lines[0]["error"], json!({"code": -32000, "message": "Authentication required"}));
}

#[test]
fn lines_that_are_no_messages() {
    let mut client = Client::new("");
    assert_eq!(client.acp.on_line(0, "garbage", &Store::default()), []);
    assert_eq!(client.send(&json!({"id": 9}))[0]["error"]["code"], -32600);
}

#[test]
fn the_end_of_stdin_ends_it_and_a_running_turn_two_seconds_later() {
    let mut client = Client::new("answers: [{ hangs: true }]");
    let session = client.opens();
    client.prompt(&session, "hi");
    assert_eq!(client.acp.on_end(1_000), []);
    assert_eq!(client.acp.due_ms(), Some(3_000));
    assert_eq!(client.acp.on_time(3_000), [Act::Exit(0)]);
    assert_eq!(Client::new("").acp.on_end(0), [Act::Exit(0)]);
}

#[test]
fn a_crash_comes_after_the_words() {
    let mut client = Client::new("answers: [{ says: so, crash: SIGKILL, children: 1 }]");
    let session = client.opens();
    assert_eq!(kinds(&client.prompt(&session, "hi")).last().unwrap(), "agent_message_chunk");
    let child = Act::Child { leaves_group: false, ignores_term: false };
    assert_eq!(client.others, [child, Act::Die(Signal::Kill)]);
}

/// What the recorded model did, by the step of the recording.
const STEPS: [(&str, &str); 8] = [
    ("warm prompt 2", "says: ANSWER-1"),
    ("permission: rejected", "tools: [{ name: view_image }]"),
    ("permission: allowed once", "tools: [{ name: view_image }], says: AFTER-ALLOW"),
    ("permission: unanswered, then cancelled", "tools: [{ name: view_image }]"),
    ("cancel in the middle of an answer", "says: FIRST-HALF|, hangs: true"),
    ("status 402", "error: { status: 402, message: You have no quota }"),
    ("status 401", "error: { status: 401, message: bad credentials }"),
    ("status 404", "error: { status: 404, message: not there }"),
];

/// The kinds of the agent's messages in each step of a recording, and what the client sent.
#[expect(clippy::disallowed_methods, reason = "a test reads the recordings")]
fn recorded() -> BTreeMap<String, (Vec<String>, Vec<Value>)> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings");
    let folder = std::env::var_os("AGENT_RECORDINGS").map_or(here, std::path::PathBuf::from);
    let text = std::fs::read_to_string(folder.join("copilot-1.0.102/acp.jsonl")).unwrap_or_default();
    let mut steps: BTreeMap<String, (Vec<String>, Vec<Value>)> = BTreeMap::new();
    let mut step = String::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let message = &line["msg"];
        match line["dir"].as_str() {
            Some("step") => message.as_str().unwrap_or_default().clone_into(&mut step),
            Some("agent>client") => {
                steps.entry(step.clone()).or_default().0.extend(kinds(std::slice::from_ref(message)));
            }
            Some("client>agent") => steps.entry(step.clone()).or_default().1.push(message.clone()),
            _ => {}
        }
    }
    steps
}

#[test]
fn the_order_is_that_of_the_recording() {
    let recorded = recorded();
    for (step, answer) in STEPS {
        let Some((mut theirs, sent)) = recorded.get(step).cloned() else { continue };
        let mut client =
            Client::new(&format!("answers: [{{ when: {{ contains: first }} }}, {{ {answer} }}]"));
        let session = client.opens();
        client.prompt(&session, "first");
        let mut mine = client.prompt(&session, "hello");
        for message in sent.iter().skip(1) {
            let mut message = message.clone();
            if message["method"] == "session/cancel" {
                message["params"]["sessionId"] = session.clone().into();
            } else {
                message["id"] = 0.into();
            }
            mine.extend(client.send(&message));
        }
        while client.acp.due_ms().is_some() {
            mine.extend(client.later());
        }
        let mut mine = kinds(&mine);
        mine.dedup();
        theirs.dedup();
        assert_eq!(mine, theirs, "{step}");
    }
}
