//! Work that outlives its call, in virtual time: a small provider whose one tool begins it, and the machine that runs it.
//! It must never decide who gets a result: that is the server's code, in whose words the job's own process is played too.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use entraclaw_agents::{AgentKind, KIND};
use entraclaw_inbox::journal::ConsumerName;
use entraclaw_inbox::provider::reads_as;
use entraclaw_mcp::hosts::HOSTS;
use entraclaw_mcp::message::Object;
use entraclaw_mcp::{Answer, Arguments, Begun, Call, Connection, Offer, Offers, Provider, Receipt, Refusal};
use entraclaw_seams::clock::Clock;
use entraclaw_seams::processes::{Ending, ProcessId, Processes, Program, SimulatedProcesses};
use entraclaw_seams::programs::Programs;
use entraclaw_seams::storage::Storage;
use entraclaw_seams::storage::memory::MemoryStorage;
use entraclaw_work::{
    Ask, Claimed, Kind, Kinds, Limits, Outcome, Reply, Request, RunParts, Running, Works, WorksParts, run,
    stand_by,
};
use fake_agents::Script;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, pending};
use rmcp::model::Tool;
use scenario::WORK_TOOL;
use serde_json::json;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep};

use super::agents::SimAgents;
use super::jobs::{Job, Jobs};
use super::sim_process::Process;
use crate::mutants::Mutant;
use crate::token::AGENT_TOKEN;

/// The time before the host's limit at which the call is answered.
const MARGIN: Duration = Duration::from_secs(2);
/// Between two looks of a job whether it is to stop. A thousand of them look for hours.
const CANCEL_LOOK: Duration = Duration::from_secs(1);
/// The environment of the jobs' processes.
const VARIABLES: [(&str, &str); 3] =
    [("PATH", "/usr/bin"), ("HOME", "/home/alice"), ("COPILOT_GITHUB_TOKEN", AGENT_TOKEN)];
/// Longest work, in milliseconds.
const TAKES_MS_MAX: u64 = 24 * 3_600_000;

/// The machine's jobs; a cheap clone.
#[derive(Clone)]
pub(crate) struct SimJobs(Arc<Inner>);

struct Inner {
    agents: SimAgents,
    disk: MemoryStorage,
    clock: Arc<dyn Clock>,
    processes: SimulatedProcesses,
    jobs: Mutex<Vec<Job>>,
    running: Mutex<BTreeMap<String, AbortHandle>>,
    /// Whether a process was started to stand by.
    stands_by: AtomicBool,
    mutant: Option<&'static Mutant>,
}

impl SimJobs {
    /// The jobs of a machine with these agents, as a server runs them that may have a fault.
    pub(crate) fn new(
        disk: MemoryStorage,
        clock: Arc<dyn Clock>,
        scripts: Vec<Script>,
        mutant: Option<&'static Mutant>,
    ) -> Self {
        let processes = SimulatedProcesses::default();
        Self(Arc::new(Inner {
            agents: SimAgents::new(scripts, processes.clone()),
            disk,
            clock,
            processes,
            jobs: Mutex::default(),
            running: Mutex::default(),
            stands_by: AtomicBool::new(false),
            mutant,
        }))
    }

    /// The processes of the machine, as the server sees them.
    pub(crate) fn processes(&self) -> Arc<dyn Processes> {
        let processes: Arc<dyn Processes> = Arc::new(self.clone());
        match self.0.mutant {
            Some(mutant) => mutant.processes(processes),
            None => processes,
        }
    }

    fn programs(&self) -> Arc<dyn Programs> {
        let programs: Arc<dyn Programs> = Arc::new(self.0.agents.clone());
        match self.0.mutant {
            Some(mutant) => mutant.programs(programs),
            None => programs,
        }
    }

    /// The other agents of the machine.
    pub(crate) fn agents(&self) -> &SimAgents {
        &self.0.agents
    }

    /// Notes the questions that were handed to processes that stand by, for which no process was started.
    fn note_handed_over(&self) {
        if !self.0.stands_by.load(Ordering::Relaxed) {
            return;
        }
        for id in self.0.disk.list("work").unwrap_or_default() {
            let is_known = locked(&self.0.jobs).iter().any(|job| job.id == id);
            if !is_known {
                self.note_question(&id);
            }
        }
    }

    /// Notes a question to another agent by its request. Its label is its prompt.
    fn note_question(&self, id: &str) {
        let request = self.0.disk.bytes(&format!("work/{id}/request.json")).unwrap_or_default();
        let Ok(request) = serde_json::from_slice::<Request>(&request) else { return };
        if request.ask.kind != KIND {
            return;
        }
        let argv: Vec<String> = serde_json::from_value(request.ask.what["argv"].clone()).unwrap_or_default();
        let title = &request.ask.title;
        let asked_at = request.asked_at.parse().unwrap_or_else(|_| self.0.clock.now());
        let age = self.0.clock.now().duration_since(asked_at).unsigned_abs();
        locked(&self.0.jobs).push(Job {
            label: Job::label_of(title),
            id: id.to_owned(),
            consumer: request.ask.consumer.clone(),
            takes_ms: self.0.agents.takes_ms(&argv, request.ask.what["input"].as_str().unwrap_or_default()),
            began: Instant::now() - age,
        });
    }

    /// The machine is started anew: no process of before runs.
    pub(crate) fn restart(&self) {
        self.0.agents.restart();
        self.0.processes.restart();
        for (_, running) in std::mem::take(&mut *locked(&self.0.running)) {
            running.abort();
        }
    }

    /// The starter of jobs for one server process.
    fn works(&self, storage: Arc<dyn Storage>, seed: u64) -> Works {
        Works::new(WorksParts {
            storage,
            home: String::new(),
            clock: self.0.clock.clone(),
            random: Arc::new(entraclaw_seams::random::SplitMix::seeded(seed)),
            processes: Arc::new(self.clone()),
            program: "entraclaw".into(),
        })
    }

    /// The provider, for one server process.
    pub(crate) fn provider(
        &self,
        storage: Arc<dyn Storage>,
        seed: u64,
        consumer: Option<ConsumerName>,
    ) -> Box<dyn Provider> {
        Box::new(WorkProvider {
            jobs: self.clone(),
            works: self.works(storage, seed),
            consumer,
            claimed: Arc::default(),
        })
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Jobs for SimJobs {
    fn all(&self) -> Vec<Job> {
        self.note_handed_over();
        locked(&self.0.jobs).clone()
    }

    fn cancel(&self, id: &str) -> io::Result<bool> {
        let disk = self.0.disk.new_process();
        let asked = self.works(Arc::new(disk.clone()), 0).cancel(id);
        disk.kill();
        asked
    }

    fn kill(&self, id: &str) -> io::Result<bool> {
        let killed = locked(&self.0.running).remove(id);
        Ok(killed.inspect(AbortHandle::abort).is_some())
    }

    fn running(&self) -> usize {
        self.0.agents.running()
    }

    fn started(&self) -> u64 {
        self.0.agents.started()
    }
}

impl Processes for SimJobs {
    /// Runs the job as the command `entraclaw work ID` does, as a process of its own, or stands by as `entraclaw work --standby
    /// KEY` does.
    fn start_detached(&self, program: &Program) -> io::Result<()> {
        self.0.processes.start_detached(program)?;
        let Some((process, program)) = self.0.processes.next_started() else { return Ok(()) };
        let mut arguments = program.arguments.iter().skip(1).filter(|argument| !argument.starts_with("--"));
        let name = arguments.next().cloned().unwrap_or_default();
        let stands_by = program.arguments.iter().any(|argument| argument == "--standby");
        if stands_by {
            self.0.stands_by.store(true, Ordering::Relaxed);
        } else {
            self.note_question(&name);
        }
        let on_disk = Process::new(&self.0.disk);
        let agents = AgentKind {
            environment: VARIABLES.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            programs: self.programs(),
            processes: Arc::new(self.clone()),
            storage: Arc::new(on_disk.storage()),
            stored: Arc::new(self.0.agents.clone()),
            home: "/home/alice/.entraclaw".into(),
        };
        let parts = RunParts {
            storage: Arc::new(on_disk.storage()),
            clock: self.0.clock.clone(),
            processes: self.processes(),
            pid: process.pid,
            kinds: Kinds::default().with(Scripted).with(agents),
            look_every: CANCEL_LOOK,
        };
        let (jobs, key) = (self.clone(), name.clone());
        let running = tokio::task::spawn_local(async move {
            let _alive = on_disk;
            // A job that could not be run is lost, and the server says so.
            if stands_by {
                let _ = stand_by(&name, parts, pending()).await;
            } else {
                let _ = run(&name, parts, pending()).await;
            }
            jobs.0.processes.end(&process);
            locked(&jobs.0.running).remove(&name);
        });
        locked(&self.0.running).insert(key, running.abort_handle());
        Ok(())
    }

    fn identify(&self, pid: u32) -> Option<ProcessId> {
        self.0.processes.identify(pid)
    }

    fn is_alive(&self, process: &ProcessId) -> bool {
        self.0.processes.is_alive(process)
    }

    fn end_group(&self, leader: &ProcessId, ending: Ending) -> io::Result<bool> {
        if self.0.agents.end(leader, ending) {
            return Ok(true);
        }
        self.0.processes.end_group(leader, ending)
    }

    fn end_descendants(&self, ending: Ending, spared: &[ProcessId]) -> usize {
        self.0.processes.end_descendants(ending, spared)
    }

    fn below(&self, process: &ProcessId) -> Vec<ProcessId> {
        let children = self.0.agents.children(process);
        if children.is_empty() { self.0.processes.below(process) } else { children }
    }

    fn memory_bytes(&self, process: &ProcessId) -> Option<u64> {
        self.0.processes.memory_bytes(process)
    }

    fn boot_id(&self) -> Option<String> {
        self.0.processes.boot_id()
    }
}

/// Work that takes so long and says what it is told.
struct Scripted;

impl Kind for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn run(&self, running: Running) -> BoxFuture<'static, Outcome> {
        async move {
            let what = running.request.ask.what.clone();
            let takes = Duration::from_millis(what["takes_ms"].as_u64().unwrap_or(0));
            tokio::select! {
                biased;
                () = sleep(takes) => {}
                _ = running.stopped() => return Outcome::Cancelled,
            }
            running.say(what["says"].as_str().unwrap_or_default().as_bytes());
            match what["fails"].as_str().unwrap_or_default() {
                "" => Outcome::Done,
                why => Outcome::Failed(why.to_owned()),
            }
        }
        .boxed()
    }
}

struct WorkProvider {
    jobs: SimJobs,
    works: Works,
    consumer: Option<ConsumerName>,
    /// Results whose answer has not left yet.
    claimed: Arc<Mutex<BTreeMap<u64, Claimed>>>,
}

/// Whose receipts the provider's are.
const READER: &str = "scripted work";

impl Provider for WorkProvider {
    fn offers(&self) -> Offers {
        let properties = json!({
            "label": {"type": "string", "description": "Its name."},
            "takes_ms": {"type": "integer", "description": "How long it takes, in milliseconds."},
            "says": {"type": "string", "description": "What it says at its end."},
            "fails": {"type": "string", "description": "Why it fails; empty: it does not."},
            "count": {"type": "integer", "description": "How many at once; all but the last are not waited for."}
        });
        let schema: Object = [("type".to_owned(), json!("object")), ("properties".to_owned(), properties)]
            .into_iter()
            .collect();
        let tool = Tool::new(WORK_TOOL, "Works for a while.", Arc::new(schema));
        Offers { tools: vec![Offer::new("inbound", tool)], ..Offers::default() }
    }

    fn call(&mut self, call: Call<'_>, connection: &mut Connection) -> Result<Begun, Refusal> {
        let mut given = Arguments::new(call.arguments);
        let label = given.required_text("label", "a name")?;
        let takes_ms = given.integer("takes_ms", 0, 0, TAKES_MS_MAX)?;
        let (says, fails) = (given.text("says", "")?, given.text("fails", "")?);
        let count = given.integer("count", 1, 1, 1_000)?;
        given.finish()?;
        let client = call.caller.client.as_deref();
        let consumer = reads_as(self.consumer.as_ref(), HOSTS, client).map_err(|error| error.to_string())?;
        let mut waited_for = None;
        for n in 1..=count {
            let label = if count == 1 { label.clone() } else { format!("{label}-{n}") };
            let ask = Ask {
                kind: "scripted".to_owned(),
                what: json!({"takes_ms": takes_ms, "says": says, "fails": fails}),
                title: label.clone(),
                consumer: consumer.to_string(),
                host: None,
                limits: Limits { time_s: 2 * TAKES_MS_MAX / 1_000, ..Limits::default() },
            };
            let job = self.works.begin(ask).map_err(|error| error.to_string())?;
            locked(&self.jobs.0.jobs).push(Job {
                label,
                id: job.id().to_owned(),
                consumer: consumer.to_string(),
                takes_ms,
                began: Instant::now(),
            });
            waited_for = Some(job);
        }
        let Some(job) = waited_for else { return Err("count: nothing to do".to_owned()) };
        let (claimed, number) = (self.claimed.clone(), connection.next_number());
        let (until, mut cancellation) = (call.until - MARGIN, call.cancellation);
        Ok(Begun::work(async move {
            let reply = tokio::select! {
                biased;
                reply = job.until(until) => reply,
                () = cancellation.cancelled() => return Answer::error("cancelled; the work goes on"),
            };
            match reply {
                Reply::Ticket(ticket) => Answer::json(&json!({"ticket": ticket.id, "says": ticket.text})),
                Reply::Done(result) => {
                    let said = json!({"ended": result.result().ended, "says": result.result().text});
                    locked(&claimed).insert(number, *result);
                    Answer::json(&said).with_receipt(Receipt { reader: READER.to_owned(), number })
                }
            }
        }))
    }

    fn written(&mut self, receipt: &Receipt) {
        if receipt.reader == READER
            && let Some(claimed) = locked(&self.claimed).remove(&receipt.number)
        {
            claimed.hand_on();
        }
    }

    fn taken_back(&mut self, receipt: &Receipt) {
        if receipt.reader == READER {
            locked(&self.claimed).remove(&receipt.number);
        }
    }
}
