//! Other coding agents on a simulated machine: their programs are played from a script in virtual time.
//! It must never decide what an agent says: that is the script's, and the fake's whose form it has.

mod group;
mod player;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use entraclaw_agents::{Agent, Finder, Found, Missing, Place, Stored};
use entraclaw_seams::processes::{Ending, ProcessId, Processes, Program, SimulatedProcesses};
use entraclaw_seams::programs::{Child, Exit, Programs, Start};
use fake_agents::{Act, Invocation, Outside, PathKind, Script, plan};
use tokio::io::duplex;
use tokio::sync::{mpsc, oneshot};

use group::Group;
use player::Player;

/// Bytes that a pipe holds, as on Linux.
const PIPE_BYTES: usize = 64 * 1024;
/// The folder in which the host starts the server. It works in one below.
const FOLDER: &str = "/home/alice";
/// Below it every folder exists, and nothing else does.
const USERS: &str = "/home/alice";
/// Where Copilot keeps its sessions.
const STORE: &str = "/home/alice/.copilot";

/// The agents of a machine; a cheap clone.
#[derive(Clone)]
pub(crate) struct SimAgents(Arc<Inner>);

struct Inner {
    scripts: Vec<Script>,
    processes: SimulatedProcesses,
    groups: Mutex<BTreeMap<ProcessId, Group>>,
    /// What the agents have stored, which no server writes.
    stored: Mutex<BTreeMap<String, String>>,
    started: Mutex<u64>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SimAgents {
    pub(crate) fn new(scripts: Vec<Script>, processes: SimulatedProcesses) -> Self {
        Self(Arc::new(Inner {
            scripts,
            processes,
            groups: Mutex::default(),
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

    /// Ends a group; `false` if none of its processes runs.
    pub(crate) fn end(&self, leader: &ProcessId, ending: Ending) -> bool {
        let mut groups = locked(&self.0.groups);
        let Some(group) = groups.get_mut(leader) else { return false };
        match ending {
            Ending::Ask => group.ask(),
            Ending::Kill => {
                group.kill();
                self.0.processes.end(leader);
            }
        }
        if group.is_empty() {
            groups.remove(leader);
        }
        true
    }

    /// The machine restarts: no agent runs.
    pub(crate) fn restart(&self) {
        for (_, mut group) in std::mem::take(&mut *locked(&self.0.groups)) {
            group.kill();
        }
    }

    /// The processes that an agent's program has started and that run. They have no numbers of their own.
    pub(crate) fn children(&self, leader: &ProcessId) -> Vec<ProcessId> {
        let children = locked(&self.0.groups).get(leader).map_or(0, Group::children);
        let number = |child| u32::MAX - u32::try_from(child).unwrap_or_default();
        (0..children).map(|child| ProcessId { pid: number(child), began: None }).collect()
    }

    /// How many agents were started.
    pub(crate) fn started(&self) -> u64 {
        *locked(&self.0.started)
    }

    /// How many processes of agents run, with those that they started.
    pub(crate) fn running(&self) -> usize {
        locked(&self.0.groups).values().map(Group::len).sum()
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
            stamp: Some("simulated".to_owned()),
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
            leader: leader.clone(),
            signalled,
            out,
            err,
            input: start.has_input.then_some(read),
        };
        let task = tokio::task::spawn_local(async move {
            let end = player.play().await;
            agents.0.processes.end(&id);
            let mut groups = locked(&agents.0.groups);
            if let Some(group) = groups.get_mut(&id) {
                group.leader_has_ended(end.pipes);
                if group.is_empty() {
                    groups.remove(&id);
                }
            }
            let _ = told.send(end.exit);
        });
        locked(&self.0.groups).insert(leader.clone(), Group::led_by(signals, task.abort_handle()));
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
