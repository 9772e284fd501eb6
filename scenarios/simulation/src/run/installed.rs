//! The other agents of a cell as real programs: the fake one, under the name of each, with its script beside it.
//! It must never end a process whose program does not lie in the cell's own folder.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use entraclaw_agents::KIND;
use entraclaw_seams::clock::SystemClock;
use entraclaw_seams::processes::SystemProcesses;
use entraclaw_seams::random::SplitMix;
use entraclaw_seams::storage::DiskStorage;
use entraclaw_work::{Request, Works, WorksParts};
use fake_agents::{Act, Agent, Invocation, Nothing, Script, plan};
use serde_json::json;
use tokio::time::Instant;

use super::jobs::{Job, Jobs};
use super::speed::PROCESS_SPEED;
use crate::token::AGENT_TOKEN;

/// The agents of one cell.
pub(crate) struct InstalledAgents {
    /// The folder of their programs. The system names it without links.
    folder: PathBuf,
    /// The folder in which their host works.
    project: PathBuf,
    /// The server's home folder.
    home: PathBuf,
    scripts: Vec<Script>,
    /// Jobs that were seen, in order: a job that has ended and was told may be gone.
    seen: RefCell<Vec<Job>>,
}

impl InstalledAgents {
    /// Installs them below a folder of the cell's own.
    #[expect(clippy::disallowed_methods, reason = "it installs real files")]
    pub(crate) fn install(
        scripts: Vec<Script>,
        program: &Path,
        cell: &Path,
        home: &Path,
    ) -> anyhow::Result<Self> {
        let folder = std::fs::canonicalize(cell)?.join("agents");
        let project = cell.join("project");
        std::fs::create_dir_all(&project)?;
        for script in &scripts {
            put(script, program, &folder.join(script.agent.program()))?;
        }
        Ok(Self { folder, project, home: home.to_owned(), scripts, seen: RefCell::default() })
    }

    /// The folder in which their host works.
    pub(crate) fn project(&self) -> &Path {
        &self.project
    }

    /// The variables of a host on whose machine they are installed.
    pub(crate) fn environment(&self) -> BTreeMap<String, String> {
        let folders = self.scripts.iter().map(|script| self.folder.join(script.agent.program()));
        let folders = folders.map(|folder| folder.display().to_string());
        let search: Vec<String> = folders.chain(["/usr/bin:/bin".to_owned()]).collect();
        let copilot = self.program(Agent::Copilot);
        let copilot =
            copilot.is_file().then(|| ("COPILOT_BINARY_PATH".to_owned(), copilot.display().to_string()));
        let others = [
            ("PATH", search.join(":")),
            ("HOME", self.project.display().to_string()),
            ("COPILOT_GITHUB_TOKEN", AGENT_TOKEN.to_owned()),
            ("COPILOT_HOME", self.folder.join("copilot/sessions").display().to_string()),
        ];
        others.map(|(name, value)| (name.to_owned(), value)).into_iter().chain(copilot).collect()
    }

    /// The path of an agent's program.
    pub(crate) fn program(&self, agent: Agent) -> PathBuf {
        self.folder.join(agent.program()).join(agent.program())
    }

    /// The processes whose program lies in the folder, whatever group or session they are in.
    fn processes(&self) -> Vec<u32> {
        let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
        let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let is_ours = |pid: &u32| {
            std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|file| file.starts_with(&self.folder))
        };
        numbers.filter(is_ours).collect()
    }

    fn takes_ms(&self, request: &Request) -> u64 {
        let argv: Vec<String> = serde_json::from_value(request.ask.what["argv"].clone()).unwrap_or_default();
        let Some((program, arguments)) = argv.split_first() else { return 0 };
        let Some(script) =
            self.scripts.iter().find(|script| self.program(script.agent) == Path::new(program))
        else {
            return 0;
        };
        let input = request.ask.what["input"].as_str().unwrap_or_default();
        let invocation = Invocation {
            argv: arguments.to_vec(),
            stdin: Some(input.as_bytes().to_vec()),
            ..Invocation::default()
        };
        let waits = plan(script, &invocation, &Nothing).into_iter().map(|act| match act {
            Act::Wait { ms } => ms,
            _ => 0,
        });
        waits.sum()
    }

    /// Notes the questions whose files are there.
    fn look(&self) {
        let Ok(entries) = std::fs::read_dir(self.home.join("work")) else { return };
        let mut found: Vec<Request> = entries
            .flatten()
            .filter_map(|entry| serde_json::from_slice(&read(&entry.path().join("request.json"))?).ok())
            .filter(|request: &Request| request.ask.kind == KIND)
            .collect();
        found.sort_by(|one, other| one.asked_at.cmp(&other.asked_at));
        let mut seen = self.seen.borrow_mut();
        for request in found {
            if seen.iter().all(|job| job.id != request.id) {
                seen.push(Job {
                    label: Job::label_of(&request.ask.title),
                    consumer: request.ask.consumer.clone(),
                    takes_ms: self.takes_ms(&request),
                    began: began(&request),
                    id: request.id,
                });
            }
        }
    }
}

impl Jobs for InstalledAgents {
    fn all(&self) -> Vec<Job> {
        self.look();
        self.seen.borrow().clone()
    }

    fn cancel(&self, id: &str) -> io::Result<bool> {
        let works = Works::new(WorksParts {
            storage: Arc::new(DiskStorage::open(&self.home)?),
            home: self.home.display().to_string(),
            clock: Arc::new(SystemClock),
            random: Arc::new(SplitMix::seeded(0)),
            processes: Arc::new(SystemProcesses),
            program: "entraclaw".into(),
        });
        works.cancel(id)
    }

    fn kill(&self, _: &str) -> io::Result<bool> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "a job's own process is killed in simulation alone"))
    }

    fn running(&self) -> usize {
        self.processes().len()
    }

    fn started(&self) -> u64 {
        let logs = self.scripts.iter().filter_map(|script| {
            let name = script.agent.program();
            read(&self.folder.join(name).join(format!("{name}.log")))
        });
        let starts = |log: Vec<u8>| {
            let lines = log.split(|byte| *byte == b'\n');
            let events = lines.filter_map(|line| serde_json::from_slice::<serde_json::Value>(line).ok());
            events.filter(|event| event["event"] == "start").count() as u64
        };
        logs.map(starts).sum()
    }
}

impl Drop for InstalledAgents {
    /// A cell that failed may have left some.
    fn drop(&mut self) {
        #[cfg(unix)]
        for pid in self.processes().into_iter().filter_map(|pid| i32::try_from(pid).ok()) {
            let _ =
                nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL);
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "it looks at real files")]
fn read(path: &Path) -> Option<Vec<u8>> {
    std::fs::read(path).ok()
}

fn began(request: &Request) -> Instant {
    let now = Instant::now();
    let asked = request.asked_at.parse().unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    #[expect(clippy::disallowed_methods, reason = "process mode runs on the real clock")]
    let ago = jiff::Timestamp::now().duration_since(asked);
    now.checked_sub(Duration::try_from(ago).unwrap_or_default()).unwrap_or(now)
}

/// The script at the speed of process mode.
pub(crate) fn faster(script: &Script) -> Script {
    let speed = u64::from(PROCESS_SPEED);
    let mut script = script.clone();
    script.start_ms /= speed;
    for answer in &mut script.answers {
        answer.after_ms /= speed;
        for tool in &mut answer.tools {
            tool.takes_ms /= speed;
        }
        answer.stream_every_ms = answer.stream_every_ms.map(|ms| ms / speed);
        if let Some(error) = &mut answer.error {
            error.retry_ms = error.retry_ms.map(|ms| ms / speed);
        }
    }
    script
}

/// The files of one agent: the program under its name, its script, and the package that tells its version.
#[expect(clippy::disallowed_methods, reason = "it installs real files")]
fn put(script: &Script, program: &Path, folder: &Path) -> anyhow::Result<()> {
    let name = script.agent.program();
    std::fs::create_dir_all(folder)?;
    // A link is quick, and a file system may have none.
    if std::fs::hard_link(program, folder.join(name)).is_err() {
        std::fs::copy(program, folder.join(name))?;
    }
    std::fs::write(folder.join(format!("{name}.yaml")), serde_json::to_vec(script)?)?;
    let package = json!({"name": package(script.agent), "version": script.version()});
    std::fs::write(folder.join("package.json"), package.to_string())?;
    Ok(())
}

/// The package that has the program.
fn package(agent: Agent) -> &'static str {
    let name = agent.program();
    let row = entraclaw_agents::AGENTS.iter().find(|row| row.program == name);
    row.and_then(|row| row.packages.first().copied()).unwrap_or(name)
}
