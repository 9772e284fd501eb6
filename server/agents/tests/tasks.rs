//! Questions as tasks of the protocol, over the wire: who gets a result, and when.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use entraclaw_agents::{Agent, AskParts, AskProvider, Finder, Found, KIND, Missing, Place, Settings};
use entraclaw_seams::clock::{Clock, TokioClock};
use entraclaw_seams::processes::SimulatedProcesses;
use entraclaw_seams::random::SplitMix;
use entraclaw_seams::storage::{MemoryStorage, Storage};
use entraclaw_work::{Claim, Kind, Kinds, Outcome, RunParts, Running, Works, WorksParts, look, run};
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, pending};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, duplex};
use tokio::time::{sleep, timeout};

const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// An agent that answers after as many seconds as its prompt says.
struct Scripted;

impl Kind for Scripted {
    fn name(&self) -> &'static str {
        KIND
    }

    fn run(&self, running: Running) -> BoxFuture<'static, Outcome> {
        let argv = running.request.ask.what["argv"].to_string();
        let seconds = argv.split("--prompt=").nth(1).and_then(|rest| rest.split('"').next()?.parse().ok());
        async move {
            tokio::select! {
                biased;
                () = sleep(Duration::from_secs(seconds.unwrap_or(1))) => {}
                _ = running.stopped() => return Outcome::Cancelled,
            }
            running.say(b"forty-two");
            Outcome::Done
        }
        .boxed()
    }
}

struct OneAgent;

impl Finder for OneAgent {
    fn find(&self, agent: &Agent) -> Result<Found, Missing> {
        let path = PathBuf::from(format!("/usr/bin/{}", agent.program));
        Ok(Found { path, version: Some("1.0.102".to_owned()), signed_in: None, stamp: None })
    }

    fn place(&self, _path: &Path) -> Place {
        Place::Folder
    }

    fn folder(&self) -> PathBuf {
        PathBuf::from("/")
    }
}

struct Machine {
    storage: MemoryStorage,
    clock: Arc<dyn Clock>,
    processes: SimulatedProcesses,
    /// How many servers were started; each draws its own ids.
    servers: AtomicU64,
}

struct Client {
    lines: Lines<BufReader<DuplexStream>>,
    to: DuplexStream,
    next_id: u64,
}

impl Machine {
    fn new() -> Self {
        let clock = Arc::new(TokioClock::starting_at("2026-11-25T08:00:00Z".parse().unwrap()));
        Self {
            storage: MemoryStorage::new(),
            clock,
            processes: SimulatedProcesses::default(),
            servers: AtomicU64::new(0),
        }
    }

    fn connect(&self) -> Client {
        let seed = self.servers.fetch_add(2, Ordering::Relaxed);
        let works = Works::new(WorksParts {
            storage: Arc::new(self.storage.new_process()),
            home: String::new(),
            clock: self.clock.clone(),
            random: Arc::new(SplitMix::seeded(seed)),
            processes: Arc::new(self.processes.clone()),
            program: "entraclaw".into(),
        });
        let provider = AskProvider::new(AskParts {
            settings: Settings::default(),
            finder: Arc::new(OneAgent),
            works,
            random: Arc::new(SplitMix::seeded(seed + 1)),
            consumer: None,
            has_inbox: true,
        });
        let ((to, input), (output, from)) = (duplex(64 * 1024), duplex(64 * 1024));
        tokio::spawn(async move {
            entraclaw_mcp::serve(entraclaw_mcp::Options::default(), vec![Box::new(provider)], input, output)
                .await
        });
        Client { lines: BufReader::new(from).lines(), to, next_id: 0 }
    }

    /// Runs the process of the next started job.
    fn start(&self) {
        let (process, program) = self.processes.next_started().unwrap();
        let parts = RunParts {
            storage: Arc::new(self.storage.new_process()),
            clock: self.clock.clone(),
            processes: Arc::new(self.processes.clone()),
            pid: process.pid,
            kinds: Kinds::default().with(Scripted),
            look_every: Duration::from_millis(50),
        };
        tokio::spawn(async move { run(&program.arguments[1], parts, pending()).await });
    }

    fn claim(&self, task: &str) -> Option<Claim> {
        let storage: Arc<dyn Storage> = Arc::new(self.storage.new_process());
        look(&storage, task).unwrap().unwrap().claim
    }
}

impl Client {
    async fn send(&mut self, method: &str, mut params: Value, capabilities: &Value) -> u64 {
        self.next_id += 1;
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": capabilities
        });
        let message = json!({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params});
        self.to.write_all(format!("{message}\n").as_bytes()).await.unwrap();
        self.next_id
    }

    async fn answer(&mut self) -> Value {
        serde_json::from_str(&self.lines.next_line().await.unwrap().unwrap()).unwrap()
    }

    async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params, &json!({"extensions": {EXTENSION: {}}})).await;
        let answer = self.answer().await;
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Asks a question that goes on as a task, and returns its id.
    async fn asks(&mut self, machine: &Machine, seconds: u64) -> String {
        let call = json!({"name": "ask", "arguments": {"prompt": seconds.to_string()}});
        self.send("tools/call", call, &json!({"extensions": {EXTENSION: {}}})).await;
        sleep(Duration::from_millis(10)).await;
        machine.start();
        let result = self.answer().await["result"].clone();
        assert_eq!(
            (&result["resultType"], &result["status"]),
            (&json!("task"), &json!("working")),
            "{result}"
        );
        result["taskId"].as_str().unwrap().to_owned()
    }

    async fn get(&mut self, task: &str) -> Value {
        self.request("tasks/get", json!({"taskId": task})).await["result"].clone()
    }
}

fn text(task: &Value) -> &str {
    task["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn a_task_brings_its_answer_and_the_inbox_never_does() {
    let machine = Machine::new();
    let mut client = machine.connect();
    let task = client.asks(&machine, 120).await;
    assert!(task.starts_with("work-"), "{task}");
    assert_eq!(client.get(&task).await["status"], "working");
    sleep(Duration::from_secs(120)).await;
    let done = client.get(&task).await;
    assert_eq!((&done["status"], text(&done).contains("forty-two")), (&json!("completed"), true), "{done}");
    sleep(Duration::from_millis(10)).await;
    assert_eq!(machine.claim(&task), Some(Claim::Seen));
    // It is the same however often it is asked for, also by the next session.
    assert_eq!(client.get(&task).await["result"], done["result"]);
    assert_eq!(machine.connect().get(&task).await["result"], done["result"]);
}

#[tokio::test(start_paused = true)]
async fn a_quick_answer_is_no_task_and_who_declares_none_gets_a_ticket() {
    let machine = Machine::new();
    let mut client = machine.connect();
    let declared = json!({"extensions": {EXTENSION: {}}});
    for (seconds, capabilities, says) in [(5, declared, "forty-two"), (120, json!({}), "still working on")] {
        let call = json!({"name": "ask", "arguments": {"prompt": seconds.to_string()}});
        client.send("tools/call", call, &capabilities).await;
        sleep(Duration::from_millis(10)).await;
        machine.start();
        let result = client.answer().await["result"].clone();
        assert_eq!(result["resultType"], "complete", "{result}");
        assert!(result["content"][0]["text"].as_str().unwrap().contains(says), "{result}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_task_ends_its_agent_and_nobody_tells_of_it() {
    let machine = Machine::new();
    let mut client = machine.connect();
    let task = client.asks(&machine, 3_000).await;
    assert!(client.request("tasks/cancel", json!({"taskId": task})).await["result"].is_object());
    assert_eq!(client.get(&task).await["status"], "cancelled");
    sleep(Duration::from_secs(2)).await;
    assert_eq!(machine.claim(&task), Some(Claim::Seen));
    assert_eq!(client.get(&task).await["status"], "cancelled");
}

#[tokio::test(start_paused = true)]
async fn a_result_that_nobody_fetches_goes_to_the_inbox() {
    let machine = Machine::new();
    // The client goes away.
    let mut client = machine.connect();
    let task = client.asks(&machine, 120).await;
    drop(client);
    sleep(Duration::from_secs(200)).await;
    assert_eq!(machine.claim(&task), Some(Claim::Released));
    // The client stays and does not ask.
    let mut client = machine.connect();
    let task = client.asks(&machine, 120).await;
    sleep(Duration::from_secs(400)).await;
    assert_eq!(machine.claim(&task), Some(Claim::Released));
    let late = client.get(&task).await;
    assert!(text(&late).contains("on its way to your inbox"), "{late}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_taken_back_is_there_for_the_next_request() {
    let machine = Machine::new();
    let mut client = machine.connect();
    let task = client.asks(&machine, 60).await;
    sleep(Duration::from_secs(60)).await;
    // Nothing is read, so the cancel finds the answer in the queue: a line of the pipe's size is before it.
    let declared = json!({"extensions": {EXTENSION: {}}});
    for _ in 0..80 {
        client.send("tools/list", json!({}), &declared).await;
    }
    let id = client.send("tasks/get", json!({"taskId": task}), &declared).await;
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    client.to.write_all(format!("{cancel}\n").as_bytes()).await.unwrap();
    sleep(Duration::from_millis(10)).await;
    assert_eq!(machine.claim(&task), Some(Claim::Claimed));
    for _ in 0..80 {
        client.answer().await;
    }
    assert!(timeout(Duration::from_secs(1), client.answer()).await.is_err());
    assert_eq!(client.get(&task).await["status"], "completed");
    sleep(Duration::from_millis(10)).await;
    assert_eq!(machine.claim(&task), Some(Claim::Seen));
}

#[tokio::test(start_paused = true)]
async fn a_task_of_another_kind_or_without_the_extension_is_refused() {
    let machine = Machine::new();
    let mut client = machine.connect();
    for task in ["x", "work-00000000-0000-4000-8000-000000000000", "work-../../etc"] {
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            let answer = client.request(method, json!({"taskId": task})).await;
            assert_eq!(answer["error"]["code"], -32602, "{answer}");
        }
    }
    client.send("tasks/get", json!({"taskId": "work-x"}), &json!({})).await;
    assert_eq!(client.answer().await["error"]["code"], -32021);
    let listed = client.request("tools/list", json!({})).await;
    for tool in listed["result"]["tools"].as_array().unwrap() {
        let may = ["ask", "suggest", "explain"].iter().any(|name| tool["name"] == *name);
        assert_eq!(tool["execution"]["taskSupport"] == "optional", may, "{tool}");
    }
    let found = client.request("server/discover", json!({})).await;
    assert_eq!(found["result"]["capabilities"]["extensions"][EXTENSION], json!({}));
}
