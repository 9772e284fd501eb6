//! Other coding agents on a simulated machine: their programs are played from a script in virtual time.
//! It must never decide what an agent says: that is the script's, and the fake's whose form it has.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use entraclaw_agents::{Agent, Finder, Found, Missing, Place, Stored};
use entraclaw_seams::processes::{Ending, ProcessId, Processes, Program, SimulatedProcesses};
use entraclaw_seams::programs::{Child, Exit, Programs, Start};
use fake_agents::{Acp, Act, Invocation, Outside, PathKind, Script, Signal, interrupted, plan};
use futures_util::future::pending;
use tokio::io::{
    AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, duplex,
};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, sleep_until};

/// Bytes that a pipe holds, as on Linux.
const PIPE_BYTES: usize = 64 * 1024;
/// The folder in which the host works.
const FOLDER: &str = "/home/alice/project";
/// Below it every folder exists, and nothing else does.
const USERS: &str = "/home/alice";
/// Where Copilot keeps its sessions.
const STORE: &str = "/home/alice/.copilot";
/// The code with which a program ends whose reader is gone.
const BROKEN_PIPE: i32 = 1;

/// The agents of a machine; a cheap clone.
#[derive(Clone)]
pub(crate) struct SimAgents(Arc<Inner>);

struct Inner {
    scripts: Vec<Script>,
    processes: SimulatedProcesses,
    running: Mutex<BTreeMap<u32, Running>>,
    /// What the agents have stored, which no server writes.
    stored: Mutex<BTreeMap<String, String>>,
    started: Mutex<u64>,
}

struct Running {
    signals: mpsc::UnboundedSender<Signal>,
    task: tokio::task::AbortHandle,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SimAgents {
    pub(crate) fn new(scripts: Vec<Script>, processes: SimulatedProcesses) -> Self {
        Self(Arc::new(Inner {
            scripts,
            processes,
            running: Mutex::default(),
            stored: Mutex::default(),
            started: Mutex::default(),
        }))
    }

    fn script(&self, program: &str) -> Option<&Script> {
        self.0.scripts.iter().find(|script| script.agent.program() == program)
    }

    /// How long an agent takes for a prompt, by its script.
    pub(crate) fn takes_ms(&self, argv: &[String], input: &str) -> u64 {
        let Some((program, arguments)) = argv.split_first() else { return 0 };
        let Some(script) = self.script(name(program)) else { return 0 };
        let invocation = Invocation {
            argv: arguments.to_vec(),
            stdin: Some(input.as_bytes().to_vec()),
            ..Invocation::default()
        };
        let waits = plan(script, &invocation, &*self.0).into_iter().map(|act| match act {
            Act::Wait { ms } => ms,
            _ => 0,
        });
        waits.sum()
    }

    /// Tells a running program; `false` if none of this number runs.
    pub(crate) fn end(&self, leader: &ProcessId, ending: Ending) -> bool {
        let mut running = locked(&self.0.running);
        let Some(program) = running.get(&leader.pid) else { return false };
        match ending {
            Ending::Ask => program.signals.send(Signal::Terminate).is_ok(),
            Ending::Kill => {
                program.task.abort();
                running.remove(&leader.pid);
                self.0.processes.end(leader);
                true
            }
        }
    }

    /// The machine restarts: no agent runs.
    pub(crate) fn restart(&self) {
        for (_, program) in std::mem::take(&mut *locked(&self.0.running)) {
            program.task.abort();
        }
    }

    /// How many agents were started.
    pub(crate) fn started(&self) -> u64 {
        *locked(&self.0.started)
    }

    /// How many agents run.
    pub(crate) fn running(&self) -> usize {
        locked(&self.0.running).len()
    }
}

fn name(program: &str) -> &str {
    Path::new(program).file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

impl Outside for Inner {
    fn kind(&self, path: &Path) -> PathKind {
        if path.starts_with(USERS) { PathKind::Folder } else { PathKind::Missing }
    }

    fn stored(&self, path: &str) -> Option<String> {
        locked(&self.stored).get(path).cloned()
    }

    fn list(&self, folder: &str) -> Vec<String> {
        let below = format!("{folder}/");
        let stored = locked(&self.stored);
        let names = stored.keys().filter_map(|path| path.strip_prefix(&below)?.split('/').next());
        let mut names: Vec<String> = names.map(str::to_owned).collect();
        names.dedup();
        names
    }
}

impl Finder for SimAgents {
    fn find(&self, agent: &Agent) -> Result<Found, Missing> {
        let script = self.script(agent.program).ok_or(Missing::NotInstalled)?;
        Ok(Found {
            path: PathBuf::from(format!("/usr/bin/{}", agent.program)),
            version: Some(script.version().to_owned()),
            signed_in: Some(script.signed_in),
        })
    }

    fn place(&self, path: &Path) -> Place {
        match self.0.kind(path) {
            PathKind::Folder => Place::Folder,
            PathKind::File => Place::Other,
            PathKind::Missing => Place::Nothing,
        }
    }

    fn folder(&self) -> PathBuf {
        PathBuf::from(FOLDER)
    }
}

impl Programs for SimAgents {
    fn start(&self, start: &Start) -> io::Result<Child> {
        let program = start.argv.first().map(String::as_str).unwrap_or_default();
        let Some(script) = self.script(name(program)).cloned() else {
            return Err(io::Error::new(io::ErrorKind::NotFound, "no such program"));
        };
        let program = Program { file: program.into(), arguments: Vec::new() };
        self.0.processes.start_detached(&program)?;
        let Some((leader, _)) = self.0.processes.next_started() else {
            return Err(io::Error::other("the program did not start"));
        };
        let seed = {
            let mut started = locked(&self.0.started);
            *started += 1;
            *started
        };
        let invocation = Invocation {
            argv: start.argv[1..].to_vec(),
            environment: start.environment.iter().cloned().collect(),
            folder: start.folder.clone(),
            stdin: None,
            stdin_is_silent: false,
            started_unix_ms: 0,
            seed,
        };
        let (signals, signalled) = mpsc::unbounded_channel();
        let ((output, out), (errors, err), (input, read)) =
            (duplex(PIPE_BYTES), duplex(PIPE_BYTES), duplex(PIPE_BYTES));
        let (told, ended) = oneshot::channel();
        let (agents, id) = (self.clone(), leader.clone());
        let player = Player {
            left: plan(&script, &invocation, &*self.0).into(),
            script,
            invocation,
            done: Vec::new(),
            inner: self.0.clone(),
            signalled,
            out,
            err,
            input: start.has_input.then_some(read),
        };
        let task = tokio::task::spawn_local(async move {
            let exit = player.play().await;
            locked(&agents.0.running).remove(&id.pid);
            agents.0.processes.end(&id);
            let _ = told.send(exit);
        });
        locked(&self.0.running).insert(leader.pid, Running { signals, task: task.abort_handle() });
        Ok(Child {
            leader: Some(leader),
            input: start.has_input.then(|| Box::new(input) as _),
            output: Box::new(output),
            errors: Box::new(errors),
            // A killed program tells nothing more.
            ended: Box::pin(async move { Ok(ended.await.unwrap_or(Exit::Signal(9))) }),
        })
    }
}

impl Stored for SimAgents {
    fn len(&self, path: &Path) -> u64 {
        let stored = locked(&self.0.stored);
        below_store(path).and_then(|path| stored.get(path)).map_or(0, |text| text.len() as u64)
    }

    fn read(&self, path: &Path, offset: u64, most: u64) -> io::Result<Vec<u8>> {
        let stored = locked(&self.0.stored);
        let text = below_store(path).and_then(|path| stored.get(path)).ok_or(io::ErrorKind::NotFound)?;
        let at = usize::try_from(offset).unwrap_or(usize::MAX).min(text.len());
        let end = at.saturating_add(usize::try_from(most).unwrap_or(usize::MAX)).min(text.len());
        Ok(text.as_bytes()[at..end].to_vec())
    }
}

/// The part of a path below the store of Copilot, whose name the fake gives it.
fn below_store(path: &Path) -> Option<&str> {
    path.strip_prefix(STORE).ok()?.to_str()
}

/// One running program.
struct Player {
    script: Script,
    invocation: Invocation,
    done: Vec<Act>,
    left: VecDeque<Act>,
    inner: Arc<Inner>,
    signalled: mpsc::UnboundedReceiver<Signal>,
    out: DuplexStream,
    err: DuplexStream,
    input: Option<DuplexStream>,
}

impl Player {
    async fn play(mut self) -> Exit {
        while let Some(act) = self.left.pop_front() {
            match &act {
                Act::Wait { ms } => {
                    if self.waits(Some(Instant::now() + Duration::from_millis(*ms))).await {
                        continue;
                    }
                }
                // It ends by a signal alone.
                Act::Hang => {
                    self.waits(None).await;
                    continue;
                }
                Act::SpeakAcp => return self.speaks().await,
                Act::ReadInput { .. } => {
                    self.reads().await;
                    continue;
                }
                act => {
                    if let Some(exit) = self.does(act).await {
                        return exit;
                    }
                }
            }
            self.done.push(act);
        }
        Exit::Code(0)
    }

    /// Does what takes no time. Returns how the program ends, if it does.
    async fn does(&mut self, act: &Act) -> Option<Exit> {
        match act {
            Act::Out(bytes) => {
                if self.out.write_all(bytes).await.is_err() {
                    return Some(Exit::Code(BROKEN_PIPE));
                }
            }
            Act::Err(bytes) => {
                if self.err.write_all(bytes).await.is_err() {
                    return Some(Exit::Code(BROKEN_PIPE));
                }
            }
            Act::Store { path, text } => {
                locked(&self.inner.stored).entry(path.clone()).or_default().push_str(text);
            }
            Act::Exit(code) => return Some(Exit::Code(i32::from(*code))),
            Act::Die(Signal::Kill) => return Some(Exit::Signal(9)),
            Act::Die(Signal::Segfault) => return Some(Exit::Signal(11)),
            Act::Die(Signal::Terminate) => return Some(Exit::Signal(15)),
            Act::Die(Signal::Interrupt) => return Some(Exit::Signal(2)),
            // A simulated machine has no files of the user, and its children hold no pipe.
            Act::Write { .. } | Act::Child { .. } | Act::Enter(_)
            // These take time, so that they are not done here.
            | Act::Wait { .. } | Act::Hang | Act::SpeakAcp | Act::ReadInput { .. } => {}
        }
        None
    }

    /// Speaks the Agent Client Protocol until its input or the program ends.
    async fn speaks(&mut self) -> Exit {
        let mut acp = Acp::new(&self.script, &self.invocation);
        let began = Instant::now();
        let Some(input) = self.input.take() else { return Exit::Code(0) };
        let mut lines = BufReader::new(input).lines();
        let mut has_ended = false;
        loop {
            let due = acp.due_ms().map(|ms| began + Duration::from_millis(ms));
            let time = async {
                match due {
                    Some(due) => sleep_until(due).await,
                    None => pending().await,
                }
            };
            let inner = self.inner.clone();
            let now_ms = || u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
            let acts = tokio::select! {
                biased;
                signal = self.signalled.recv() => match signal {
                    Some(_) if acp.ends_on_sigterm() => return Exit::Code(0),
                    Some(_) => continue,
                    None => return Exit::Signal(9),
                },
                line = lines.next_line(), if !has_ended => {
                    if let Ok(Some(line)) = line {
                        acp.on_line(now_ms(), &line, &*inner)
                    } else {
                        has_ended = true;
                        acp.on_end(now_ms())
                    }
                },
                () = time => acp.on_time(now_ms()),
            };
            for act in &acts {
                if let Some(exit) = self.does(act).await {
                    return exit;
                }
            }
        }
    }

    /// Waits until then, or for ever. Returns whether a signal has changed what is left.
    async fn waits(&mut self, until: Option<Instant>) -> bool {
        loop {
            let time = async {
                match until {
                    Some(until) => sleep_until(until).await,
                    None => sleep(Duration::MAX).await,
                }
            };
            tokio::select! {
                biased;
                signal = self.signalled.recv() => {
                    let Some(signal) = signal else { return false };
                    let acts = interrupted(&self.script, &self.invocation, &self.done, signal);
                    if let Some(acts) = acts {
                        self.left = acts.into();
                        return true;
                    }
                }
                () = time => return false,
            }
        }
    }

    /// Plans again with what came on stdin, and skips what was done already.
    async fn reads(&mut self) {
        let mut read = Vec::new();
        if let Some(input) = &mut self.input {
            let _ = input.read_to_end(&mut read).await;
        }
        self.invocation.stdin = Some(read);
        self.left = plan(&self.script, &self.invocation, &*self.inner).into();
        for done in &self.done {
            if self.left.front() == Some(done) {
                self.left.pop_front();
            }
        }
    }
}
