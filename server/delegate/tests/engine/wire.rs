//! Checks the tools over the wire, as a host sees them: the document's answers, its notifications and its errors.

use std::sync::Arc;

use entraclaw_delegate::provider::{DelegateProvider, FarProvider};
use entraclaw_delegate::store::Place;
use entraclaw_delegate::{Bounds, Engine, EngineParts};
use entraclaw_mcp::{Options, Provider, serve};
use entraclaw_seams::clock::TokioClock;
use entraclaw_seams::random::SplitMix;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::time::{Duration, Instant, sleep, timeout};

use crate::fake::{Fakes, Plan};
use crate::rig::Rig;

pub(crate) struct Host {
    to: WriteHalf<DuplexStream>,
    from: Lines<BufReader<ReadHalf<DuplexStream>>>,
    said: Vec<Value>,
    count: u64,
    /// What the server has declared.
    declared: Value,
}

impl Host {
    async fn met(rig: &Rig, client: &str) -> Self {
        Self::over(connected(Box::new(DelegateProvider::new(rig.engine.clone()))), client).await
    }

    /// A host of a session whose engine is another process.
    async fn far(rig: &Rig, client: &str) -> Self {
        let engine = connected(Box::new(DelegateProvider::new(rig.engine.clone())));
        Self::over(connected(Box::new(FarProvider::new(Box::new(move || engine)))), client).await
    }

    pub(crate) async fn over(ours: DuplexStream, client: &str) -> Self {
        let (from, to) = tokio::io::split(ours);
        let mut host = Self {
            to,
            from: BufReader::new(from).lines(),
            said: Vec::new(),
            count: 0,
            declared: Value::Null,
        };
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": client, "version": "1"}});
        host.declared = host.ask("initialize", params).await["result"]["capabilities"].take();
        host.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        host
    }

    async fn say(&mut self, message: &Value) {
        self.to.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn read(&mut self) -> Value {
        serde_json::from_str(&self.from.next_line().await.unwrap().unwrap()).unwrap()
    }

    pub(crate) async fn send(&mut self, method: &str, params: Value) -> u64 {
        self.count += 1;
        self.say(&json!({"jsonrpc": "2.0", "id": self.count, "method": method, "params": params})).await;
        self.count
    }

    async fn answer(&mut self, id: u64) -> Value {
        loop {
            let line = self.read().await;
            if line["id"] == id {
                return line;
            }
            self.said.push(line);
        }
    }

    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params).await;
        self.answer(id).await
    }

    /// The JSON in the answer of a tool, and whether it is an error.
    async fn call(&mut self, tool: &str, arguments: Value) -> (Value, bool) {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments})).await;
        read(&answer)
    }

    /// Calls a tool that must succeed.
    pub(crate) async fn does(&mut self, tool: &str, arguments: Value) -> Value {
        let (answer, is_error) = self.call(tool, arguments).await;
        assert!(!is_error, "{tool}: {answer}");
        answer
    }

    /// Calls a tool that must fail, and gives the name of the failure.
    async fn fails(&mut self, tool: &str, arguments: Value) -> String {
        let (answer, is_error) = self.call(tool, arguments).await;
        assert!(
            is_error && answer["message"].as_str().is_some_and(|says| says.len() > 10),
            "{tool}: {answer}"
        );
        answer["error"].as_str().unwrap().to_owned()
    }

    /// Reads until this notification comes.
    pub(crate) async fn told(&mut self, method: &str) -> Value {
        loop {
            if let Some(at) = self.said.iter().position(|line| line["method"] == method) {
                return self.said.remove(at)["params"].clone();
            }
            let line = timeout(Duration::from_secs(600), self.read()).await.expect(method);
            self.said.push(line);
        }
    }
}

/// The host's end of a connection with this provider.
pub(crate) fn connected(provider: Box<dyn Provider>) -> DuplexStream {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (reader, writer) = tokio::io::split(theirs);
    tokio::spawn(serve(Options::default(), vec![provider], reader, writer));
    ours
}

fn read(answer: &Value) -> (Value, bool) {
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
    assert!(text.len() <= 8_000, "{} bytes", text.len());
    (serde_json::from_str(text).unwrap(), answer["result"]["isError"] == true)
}

#[tokio::test(start_paused = true)]
async fn a_task_is_handed_over_polled_and_told() {
    let rig = Rig::new();
    let host = Host::met(&rig, "claude-code").await;
    handed_over_polled_and_told(&rig, host).await;
}

#[tokio::test(start_paused = true)]
async fn a_session_of_another_process_hands_over_polls_and_is_told_the_same() {
    let rig = Rig::new();
    let host = Host::far(&rig, "claude-code").await;
    handed_over_polled_and_told(&rig, host).await;
}

async fn handed_over_polled_and_told(rig: &Rig, mut host: Host) {
    for notification in ["task_progress", "task_completed", "task_preempted"] {
        assert_eq!(host.declared["experimental"][notification], json!({}), "{}", host.declared);
    }
    let plan = Plan::new("a", 3, "ws");
    let queued = host.does("chat", json!({"message": plan.message()})).await;
    let id = queued["task_id"].clone();
    assert_eq!(queued, json!({"task_id": id, "status": "queued", "queue_position": 0}));
    sleep(Duration::from_millis(1_050)).await;
    rig.fakes.world().tool_ms = 2_000;
    let second = Plan::new("b", 3, "w");
    let next =
        host.does("chat", json!({"message": second.message(), "hint": "testing"})).await["task_id"].clone();
    sleep(Duration::from_millis(1_100)).await;
    let polled = host.does("poll_task", json!({"task_id": next})).await;
    let expected = json!({"task_id": next, "status": "in_progress", "progress": "Executing tool: write b-0", "elapsed_seconds": 1});
    assert_eq!(polled, expected);
    let done = host.does("poll_task", json!({"task_id": id})).await;
    let expected = json!({
        "task_id": id,
        "status": "completed",
        "response": plan.answer(),
        "tool_calls": [
            {"tool": "write", "path": "a-0", "status": "success"},
            {"tool": "slow", "path": "a-1", "status": "success"}
        ],
        "token_usage": {"input": 300, "output": 9},
        "elapsed_seconds": 0
    });
    assert_eq!(done, expected);
    assert_eq!(host.told("notifications/task_completed").await, expected);
    let progress = host.told("notifications/task_progress").await;
    assert_eq!(progress["task_id"], id);
    assert!(progress["progress"].is_string() && progress["percent"].is_u64(), "{progress}");
}

#[tokio::test(start_paused = true)]
async fn wait_answers_with_the_result_and_tells_progress_in_numbers() {
    let rig = Rig::new();
    let mut host = Host::met(&rig, "claude-code").await;
    let plan = Plan::new("a", 3, "w");
    let params = json!({"name": "chat", "arguments": {"message": plan.message(), "wait": true}, "_meta": {"progressToken": "p"}});
    let answer = host.ask("tools/call", params).await;
    let (done, is_error) = read(&answer);
    assert_eq!(
        (&done["status"], &done["response"], is_error),
        (&json!("completed"), &json!(plan.answer()), false)
    );
    let steps: Vec<u64> = host
        .said
        .iter()
        .filter(|line| line["method"] == "notifications/progress")
        .map(|line| line["params"]["progress"].as_u64().unwrap())
        .collect();
    assert!(steps.len() >= 2 && steps.is_sorted_by(|a, b| a < b), "{steps:?}");
}

#[tokio::test(start_paused = true)]
async fn wait_answers_with_a_ticket_before_the_host_gives_up() {
    let rig = Rig::new();
    rig.fakes.world().word_ms = 1_000;
    let mut host = Host::met(&rig, "opencode").await;
    let plan = Plan::new("a", 500, "");
    let began = Instant::now();
    let ticket = host.does("chat", json!({"message": plan.message(), "wait": true})).await;
    assert!(began.elapsed() < Duration::from_secs(60), "it outlasted a host that waits a minute");
    assert_eq!(ticket["status"], "in_progress");
    assert!(ticket["hint"].as_str().unwrap().contains("poll_task"));
    // It goes on, and its end is told.
    assert_eq!(host.told("notifications/task_completed").await["task_id"], ticket["task_id"]);
}

#[tokio::test(start_paused = true)]
async fn a_person_interrupts_and_the_host_is_told_in_the_documents_shape() {
    let rig = Rig::new();
    rig.fakes.world().word_ms = 100;
    let mut host = Host::met(&rig, "claude-code").await;
    let plan = Plan::new("a", 20, "");
    let waits = host
        .send("tools/call", json!({"name": "chat", "arguments": {"message": plan.message(), "wait": true}}))
        .await;
    sleep(Duration::from_millis(450)).await;
    rig.person(&Plan::new("me", 10, "")).await;
    let answer = host.answer(waits).await;
    let (preempted, _) = read(&answer);
    let id = preempted["task_id"].clone();
    let partial = "a-0-0 a-0-1 a-0-2 a-0-3 ";
    let expected = json!({
        "task_id": id,
        "status": "preempted",
        "partial_response": partial,
        "queue_position": 1,
        "hint": "Human interaction in progress. Poll for completion or cancel.",
        "will_resume": true
    });
    assert_eq!(preempted, expected);
    let told = host.told("notifications/task_preempted").await;
    let expected =
        json!({"task_id": id, "reason": "human_input", "partial_response": partial, "will_resume": true});
    assert_eq!(told, expected);
    let done = host.told("notifications/task_completed").await;
    assert_eq!((&done["response"], &done["resumed"]), (&json!(plan.answer()), &json!("continued")));
    let history = host.does("get_history", json!({})).await;
    let sources: Vec<_> =
        history["messages"].as_array().unwrap().iter().map(|one| one["source"].clone()).collect();
    assert_eq!(sources, ["claude-code", "you", "entraclaw", "entraclaw"]);
    let models: Vec<_> = history["messages"].as_array().unwrap().iter().map(|one| one.get("model")).collect();
    let scripted = json!("scripted");
    assert_eq!(models, [None, None, Some(&scripted), Some(&scripted)]);
    assert_eq!(history["count"], 4);
}

/// No answer repeats the reason; it is in the file, for a person who reads there.
#[tokio::test(start_paused = true)]
async fn the_reason_of_a_cancel_is_kept_and_an_empty_one_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let fakes = Fakes::new();
    let (engine, work) = Engine::begin(EngineParts {
        place: Place::Folder(folder.path().to_owned()),
        model: Arc::new(fakes.clone()),
        toolbox: Arc::new(fakes),
        clock: Arc::new(TokioClock::starting_at("2026-11-26T09:00:00Z".parse().unwrap())),
        random: Arc::new(SplitMix::seeded(0)),
        bounds: Bounds::default(),
    })
    .unwrap();
    tokio::spawn(work);
    let mut host = Host::over(connected(Box::new(DelegateProvider::new(engine))), "claude-code").await;
    let file = rusqlite::Connection::open(folder.path().join("conversation.db")).unwrap();
    for (given, kept) in [
        (json!({"reason": " the plan has changed"}), Some(" the plan has changed")),
        (json!({"reason": " \n"}), None),
        (json!({}), None),
    ] {
        let message = Plan::new("a", 200, "").message();
        let id = host.does("chat", json!({"message": message})).await["task_id"].clone();
        let mut arguments = given.clone();
        arguments["task_id"] = id.clone();
        assert_eq!(host.does("cancel", arguments).await["status"], "cancelled");
        let sql = "SELECT cancel_reason FROM tasks WHERE id = ?";
        let found: Option<String> = file.query_one(sql, [id.as_str()], |row| row.get(0)).unwrap();
        assert_eq!(found.as_deref(), kept, "{given}");
    }
}

#[tokio::test(start_paused = true)]
async fn only_the_client_that_owns_a_task_is_told_and_may_cancel_it() {
    let rig = Rig::new();
    let (mut one, mut two) = (Host::met(&rig, "claude-code").await, Host::met(&rig, "codex").await);
    let id = one.does("chat", json!({"message": Plan::new("a", 200, "").message()})).await["task_id"].clone();
    sleep(Duration::from_millis(20)).await;
    assert_eq!(two.does("poll_task", json!({"task_id": id})).await["status"], "in_progress");
    assert_eq!(two.fails("cancel", json!({"task_id": id})).await, "cannot_cancel");
    let person = rig.person(&Plan::new("me", 100, "")).await;
    assert_eq!(two.fails("cancel", json!({"task_id": person})).await, "cannot_cancel");
    let cancelled = one.does("cancel", json!({"task_id": id, "reason": "changed"})).await;
    assert_eq!(cancelled, json!({"status": "cancelled", "task_id": id}));
    assert_eq!(one.fails("cancel", json!({"task_id": id})).await, "cannot_cancel");
    assert_eq!(one.told("notifications/task_completed").await["status"], "cancelled");
    let last = two.does("chat", json!({"message": Plan::new("b", 1, "").message(), "wait": true})).await;
    assert_eq!(last["status"], "completed");
    let told = two.said.iter().filter_map(|line| line["params"].get("task_id"));
    assert!(told.into_iter().all(|told| *told == last["task_id"]), "{:?}", two.said);
}

#[tokio::test(start_paused = true)]
async fn failures_have_their_names() {
    let rig = Rig::with(Fakes::new(), Bounds::default());
    let mut host = Host::met(&rig, "claude-code").await;
    for (tool, arguments) in [
        ("chat", json!({})),
        ("chat", json!({"message": "  "})),
        ("chat", json!({"message": "m", "wait": "yes"})),
        ("chat", json!({"message": "m", "hint": "magic"})),
        ("chat", json!({"message": "m", "context": "a"})),
        ("chat", json!({"message": "m", "context": [{"path": "a"}]})),
        ("chat", json!({"message": "m", "mesage": "m"})),
        ("poll_task", json!({})),
        ("get_history", json!({"limit": 0})),
        ("report_issue", json!({"issue_type": "bad", "description": "d"})),
        ("report_issue", json!({"issue_type": "slow"})),
        ("status", json!({"verbose": true})),
    ] {
        assert_eq!(host.fails(tool, arguments.clone()).await, "invalid_args", "{tool} {arguments}");
    }
    for (tool, arguments) in [
        ("poll_task", json!({"task_id": "task_1"})),
        ("cancel", json!({"task_id": "task_1"})),
        ("report_issue", json!({"task_id": "task_1", "issue_type": "slow", "description": "d"})),
    ] {
        assert_eq!(host.fails(tool, arguments).await, "not_found", "{tool}");
    }
    for _ in 0..10 {
        host.does("chat", json!({"message": Plan::new("a", 1, "").message()})).await;
    }
    assert_eq!(host.fails("chat", json!({"message": "more"})).await, "rate_limited");
    // Polling is not counted.
    host.does("status", json!({})).await;
    rig.engine.shut_down().await.unwrap();
    assert_eq!(host.fails("status", json!({})).await, "no_session");
}

#[tokio::test(start_paused = true)]
async fn capabilities_status_and_issues_say_what_is_known() {
    let rig = Rig::new();
    {
        let facts = &mut rig.fakes.world().facts;
        (facts.context_tokens, facts.tools, facts.is_loaded) = (Some(32_768), Some(true), Some(true));
    }
    let mut host = Host::met(&rig, "claude-code").await;
    let known = host.does("get_capabilities", json!({})).await;
    let expected = json!({
        "models": [{
            "name": "scripted", "context_length": 32_768, "strengths": [], "tools": true,
            "tokens_per_second": null, "reported_issues": {}
        }],
        "tools": ["write", "slow", "read", "look"],
        "max_concurrent_tasks": 1,
        "rate_limit": {"requests_per_minute": 100}
    });
    assert_eq!(known, expected);
    let idle = host.does("status", json!({})).await;
    let expected = json!({"state": "idle", "active_task": null, "queue_depth": 0, "model_loaded": true, "gpu_utilization": null});
    assert_eq!(idle, expected);
    rig.fakes.world().word_ms = 1_000;
    let id = host.does("chat", json!({"message": Plan::new("a", 9, "").message(), "hint": "testing"})).await
        ["task_id"]
        .clone();
    host.does("chat", json!({"message": Plan::new("b", 9, "").message()})).await;
    sleep(Duration::from_millis(5_100)).await;
    let busy = host.does("status", json!({})).await;
    assert_eq!((&busy["state"], &busy["queue_depth"]), (&json!("busy"), &json!(1)));
    assert_eq!((&busy["active_task"]["task_id"], &busy["active_task"]["elapsed_seconds"]), (&id, &json!(5)));
    let issue = json!({"task_id": id, "issue_type": "slow", "description": "too slow", "expected": "faster"});
    let reported = host.does("report_issue", issue).await;
    assert_eq!(reported["status"], "reported");
    assert!(reported["message"].as_str().unwrap().contains("scripted, kind of task testing"), "{reported}");
    let known = host.does("get_capabilities", json!({})).await;
    assert_eq!(known["models"][0]["reported_issues"], json!({"slow": 1}));
}

#[tokio::test(start_paused = true)]
async fn a_long_response_is_read_in_pieces() {
    let rig = Rig::new();
    rig.fakes.world().word_ms = 1;
    let mut host = Host::met(&rig, "claude-code").await;
    let plan = Plan::new("long", 3_000, "w");
    let mut answer = host.does("chat", json!({"message": plan.message(), "wait": true})).await;
    let mut whole = answer["response"].as_str().unwrap().to_owned();
    while let Some(offset) = answer["next_offset"].as_u64() {
        answer = host.does("poll_task", json!({"task_id": answer["task_id"], "offset": offset})).await;
        whole.push_str(answer["response"].as_str().unwrap());
    }
    assert_eq!(whole, plan.answer());
    let history = host.does("get_history", json!({})).await;
    assert!(history["messages"][1]["content"].as_str().unwrap().contains("[cut: "));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_ends_its_task_and_a_host_that_goes_away_does_not() {
    let rig = Rig::new();
    let host = Host::met(&rig, "claude-code").await;
    cancels_and_goes_away(&rig, host).await;
    let rig = Rig::new();
    let host = Host::far(&rig, "claude-code").await;
    cancels_and_goes_away(&rig, host).await;
}

async fn cancels_and_goes_away(rig: &Rig, mut host: Host) {
    rig.fakes.world().word_ms = 1_000;
    let wait = |plan: &Plan| json!({"name": "chat", "arguments": {"message": plan.message(), "wait": true}});
    let id = host.send("tools/call", wait(&Plan::new("a", 90, ""))).await;
    sleep(Duration::from_secs(3)).await;
    host.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}))
        .await;
    sleep(Duration::from_secs(1)).await;
    assert!(rig.engine.snapshot(0).await.unwrap().queue.is_empty());
    host.send("tools/call", wait(&Plan::new("b", 90, ""))).await;
    sleep(Duration::from_secs(1)).await;
    drop(host);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(rig.engine.snapshot(0).await.unwrap().queue.len(), 1);
}

const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// The `_meta` of a client of 2026-07-28, with the extension for tasks.
fn modern() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "opencode", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"extensions": {EXTENSION: {}}}
    })
}

#[tokio::test(start_paused = true)]
async fn a_call_goes_on_as_a_task_of_the_session() {
    let rig = Rig::new();
    let host = Host::met(&rig, "claude-code").await;
    session_task(&rig, host).await;
    let rig = Rig::new();
    let host = Host::far(&rig, "claude-code").await;
    session_task(&rig, host).await;
}

async fn session_task(rig: &Rig, mut host: Host) {
    let tools = host.ask("tools/list", json!({})).await;
    let chat = tools["result"]["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "chat");
    assert_eq!(chat.unwrap()["execution"], json!({"taskSupport": "optional"}));
    rig.fakes.world().word_ms = 1_000;
    let plan = Plan::new("a", 5, "");
    let call =
        |name: &str, arguments: Value| json!({"name": name, "arguments": arguments, "task": {"ttl": 60_000}});
    let made = host.ask("tools/call", call("chat", json!({"message": plan.message()}))).await;
    let task = made["result"]["task"].clone();
    assert_eq!((&task["status"], &task["ttl"]), (&json!("working"), &Value::Null), "{made}");
    let named = json!({"taskId": task["taskId"]});
    sleep(Duration::from_millis(1_500)).await;
    let got = host.ask("tasks/get", named.clone()).await["result"].clone();
    assert_eq!((&got["status"], &got["statusMessage"]), (&json!("working"), &json!("Writing the answer")));
    let waits = host.send("tasks/result", named.clone()).await;
    let listed = host.ask("tasks/list", json!({})).await["result"]["tasks"].clone();
    assert_eq!(listed[0]["taskId"], task["taskId"]);
    let answer = host.answer(waits).await;
    let (done, is_error) = read(&answer);
    assert!(!is_error && done["response"] == plan.answer(), "{done}");
    assert_eq!(answer["result"]["_meta"]["io.modelcontextprotocol/related-task"], named);
    let status = host.told("notifications/tasks/status").await;
    assert_eq!(status["taskId"], task["taskId"]);
    assert_eq!(host.ask("tasks/get", named.clone()).await["result"]["status"], "completed");
    assert_eq!(host.ask("tasks/cancel", named).await["error"]["code"], -32602);

    let made =
        host.ask("tools/call", call("chat", json!({"message": Plan::new("b", 90, "").message()}))).await;
    let named = json!({"taskId": made["result"]["task"]["taskId"]});
    assert_eq!(host.ask("tasks/cancel", named).await["result"]["status"], "cancelled");
    let refused = host.ask("tools/call", call("status", json!({}))).await;
    assert_eq!(refused["error"]["code"], -32601, "{refused}");
    for id in ["task_0000000000000000", "other"] {
        assert_eq!(host.ask("tasks/get", json!({"taskId": id})).await["error"]["code"], -32602);
    }
    let person = rig.person(&Plan::new("me", 2, "")).await;
    assert_eq!(host.ask("tasks/result", json!({"taskId": person})).await["error"]["code"], -32602);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_longer_goes_on_as_a_task_of_the_extension() {
    for is_far in [false, true] {
        let rig = Rig::new();
        rig.fakes.world().word_ms = 1_000;
        let mut host =
            if is_far { Host::far(&rig, "opencode").await } else { Host::met(&rig, "opencode").await };
        let plan = Plan::new("a", 100, "");
        let arguments = json!({"message": plan.message(), "wait": true});
        let params = json!({"name": "chat", "arguments": arguments, "_meta": modern()});
        let made = host.ask("tools/call", params).await["result"].clone();
        assert_eq!((&made["resultType"], &made["status"]), (&json!("task"), &json!("working")), "{made}");
        let named = || json!({"taskId": made["taskId"], "_meta": modern()});
        let got = host.ask("tasks/get", named()).await["result"].clone();
        assert_eq!((&got["status"], &got["ttlMs"]), (&json!("working"), &Value::Null), "{got}");
        sleep(Duration::from_secs(100)).await;
        let got = host.ask("tasks/get", named()).await["result"].clone();
        assert_eq!(got["status"], "completed");
        let text = got["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(&plan.answer()) && got["result"]["resultType"] == "complete", "{got}");
        let without = json!({"taskId": made["taskId"], "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {}
        }});
        assert_eq!(host.ask("tasks/get", without).await["error"]["code"], -32021);

        let arguments = json!({"message": Plan::new("b", 300, "").message(), "wait": true});
        let params = json!({"name": "chat", "arguments": arguments, "_meta": modern()});
        let made = host.ask("tools/call", params).await["result"].clone();
        let named = json!({"taskId": made["taskId"], "_meta": modern()});
        assert_eq!(host.ask("tasks/cancel", named.clone()).await["result"]["resultType"], "complete");
        assert_eq!(host.ask("tasks/get", named).await["result"]["status"], "cancelled");
    }
}
