//! A machine with one scripted agent, a server with the tools of this crate, and a client of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use entraclaw_agents::{Agent, AskParts, AskProvider, Finder, Found, KIND, Missing, Place, Settings};
use entraclaw_seams::clock::{Clock, TokioClock};
use entraclaw_seams::processes::SimulatedProcesses;
use entraclaw_seams::random::SplitMix;
use entraclaw_seams::storage::{MemoryStorage, Storage};
use entraclaw_work::{Claim, Kind, Kinds, Look, Outcome, RunParts, Running, Works, WorksParts, look, run};
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, pending};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, duplex};
use tokio::time::sleep;

pub(crate) const EXTENSION: &str = "io.modelcontextprotocol/tasks";

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

    fn place(&self, path: &Path) -> Place {
        if path.starts_with("/home/alice") { Place::Folder } else { Place::Nothing }
    }

    fn folder(&self) -> PathBuf {
        PathBuf::from("/")
    }
}

pub(crate) struct Machine {
    pub(crate) storage: MemoryStorage,
    clock: Arc<dyn Clock>,
    processes: SimulatedProcesses,
    /// How many servers were started; each draws its own ids.
    servers: AtomicU64,
}

pub(crate) struct Client {
    pub(crate) lines: Lines<BufReader<DuplexStream>>,
    pub(crate) to: DuplexStream,
    next_id: u64,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let clock = Arc::new(TokioClock::starting_at("2026-11-25T08:00:00Z".parse().unwrap()));
        Self {
            storage: MemoryStorage::new(),
            clock,
            processes: SimulatedProcesses::default(),
            servers: AtomicU64::new(0),
        }
    }

    pub(crate) fn connect(&self) -> Client {
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

    /// Runs the process of the next started job, and tells the job's id.
    pub(crate) fn start(&self) -> String {
        self.try_start().unwrap()
    }

    /// As [`Machine::start`], if a job was started.
    pub(crate) fn try_start(&self) -> Option<String> {
        let (process, program) = self.processes.next_started()?;
        let parts = RunParts {
            storage: Arc::new(self.storage.new_process()),
            clock: self.clock.clone(),
            processes: Arc::new(self.processes.clone()),
            pid: process.pid,
            kinds: Kinds::default().with(Scripted),
            look_every: Duration::from_millis(50),
        };
        let id = program.arguments[1].clone();
        let job = id.clone();
        tokio::spawn(async move { run(&job, parts, pending()).await });
        Some(id)
    }

    /// A job as it is now.
    pub(crate) fn look(&self, id: &str) -> Look {
        let storage: Arc<dyn Storage> = Arc::new(self.storage.new_process());
        look(&storage, id).unwrap().unwrap()
    }

    pub(crate) fn claim(&self, task: &str) -> Option<Claim> {
        self.look(task).claim
    }
}

impl Client {
    pub(crate) async fn send(&mut self, method: &str, mut params: Value, capabilities: &Value) -> u64 {
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

    pub(crate) async fn answer(&mut self) -> Value {
        serde_json::from_str(&self.lines.next_line().await.unwrap().unwrap()).unwrap()
    }

    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params, &json!({"extensions": {EXTENSION: {}}})).await;
        let answer = self.answer().await;
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }
}
