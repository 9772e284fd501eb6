//! What asking another agent costs, with a program in the agent's place that answers at once: only ours is measured.
//! It must never count a process that it did not start.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use fake_agents::{Agent, Answer, Says, Script};
use fake_hosts::drive::Server as _;
use fake_hosts::pipe::Pipe;
use fake_hosts::process::{ProcessServer, ServerCommand};
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::time::{Instant, sleep};

use super::live::{initialize, request};
use super::memory::peak_megabytes;
use crate::run::{InstalledAgents, Jobs as _};

/// Questions of which the median is taken.
const QUESTIONS: usize = 101;
/// Questions to one program that stands by, of which the median is taken; it takes fifty.
const WARM_QUESTIONS: usize = 41;
/// Questions that are cancelled.
const CANCELS: u64 = 20;
/// Bytes of a long answer.
const LONG_BYTES: u64 = 10_000_000;
/// Sessions that ask at once.
const SESSIONS: usize = 20;
/// Questions of each of them; with all of them a hundred. A server takes eight calls at once and refuses more.
const CALLS_EACH: u64 = 5;
/// How long an agent works whose question is cancelled, in milliseconds.
const WORKS_MS: u64 = 60_000;
/// How long each of many agents works, in milliseconds.
const SHORT_MS: u64 = 100;
/// The pause between two looks at processes.
const LOOK: Duration = Duration::from_millis(2);
/// Longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(60);
/// The text of each question.
const PROMPT: &str = "p";

/// What was measured.
pub(super) struct Costs {
    /// The median of a question, minus that of the bare program, in milliseconds.
    pub(super) added_ms: f64,
    /// The median of a whole question to a program that stands by, in milliseconds.
    pub(super) warm_ms: f64,
    /// From a cancel until no process of the agent is left, the slowest, in milliseconds.
    pub(super) cancel_ms: f64,
    /// The same where the agent and its children ignore SIGTERM.
    pub(super) deaf_cancel_ms: f64,
    /// Peak memory of the server and of the job while an agent prints much; `None` where the system does not tell.
    pub(super) long: Option<(f64, f64)>,
    /// The most agents that ran at once while many were asked.
    pub(super) agents_at_once: usize,
    /// Descriptors of the server that were open after all these calls and not before.
    pub(super) descriptors_left: usize,
}

/// Measures all of it.
pub(super) async fn measure(binary: &Path, agent: &Path) -> anyhow::Result<Costs> {
    let (agents_at_once, descriptors_left) = many(binary, agent).await?;
    Ok(Costs {
        added_ms: added_ms(binary, agent).await?,
        warm_ms: warm_ms(binary, agent).await?,
        cancel_ms: cancel_ms(binary, agent, false).await?,
        deaf_cancel_ms: cancel_ms(binary, agent, true).await?,
        long: long(binary, agent).await?,
        agents_at_once,
        descriptors_left,
    })
}

/// A machine with an agent.
struct Machine {
    agents: InstalledAgents,
    home: PathBuf,
    binary: PathBuf,
    _folder: tempfile::TempDir,
}

impl Machine {
    fn with(answer: Answer, binary: &Path, agent: &Path) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let home = folder.path().join("home");
        let script = json!({"agent": "copilot", "version": "1.0.102"});
        let script = Script { answers: vec![answer], ..serde_json::from_value(script)? };
        let agents = InstalledAgents::install(vec![script], agent, folder.path(), &home)?;
        Ok(Self { agents, home, binary: binary.to_owned(), _folder: folder })
    }

    /// A server that offers nothing but to ask agents.
    async fn session(&self) -> anyhow::Result<Session> {
        self.session_with(&[]).await
    }

    /// The same with more variables.
    async fn session_with(&self, variables: &[(&str, &str)]) -> anyhow::Result<Session> {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let arguments = ["serve", "--only", "ask", "--home"].map(str::to_owned).into_iter();
        let mut server = ProcessServer::new(ServerCommand {
            program: self.binary.display().to_string(),
            arguments: arguments.chain([self.home.display().to_string()]).collect(),
            working_directory: Some(self.agents.project().to_owned()),
            environment: self.agents.environment().into_iter().chain(variables).collect(),
            bare_environment: true,
        });
        let ends = server.spawn().with_context(|| format!("cannot start {}", self.binary.display()))?;
        let mut session = Session { server, pipe: Pipe::new(ends), last_id: 0 };
        session.pipe.send(&initialize()).await?;
        session.answer(0).await?;
        Ok(session)
    }

    /// Waits until so many processes of the agent run.
    async fn until_running(&self, count: usize) -> anyhow::Result<Duration> {
        let began = Instant::now();
        while self.agents.running() != count {
            anyhow::ensure!(began.elapsed() < PATIENCE, "there are never {count} processes of the agent");
            sleep(LOOK).await;
        }
        Ok(began.elapsed())
    }
}

impl Machine {
    /// Waits until a program stands by.
    async fn until_ready(&self) -> anyhow::Result<()> {
        let began = Instant::now();
        loop {
            let names = std::fs::read_dir(self.home.join("standby")).into_iter().flatten().flatten();
            if names.map(|entry| entry.file_name()).any(|name| name.to_string_lossy().ends_with(".idle")) {
                return Ok(());
            }
            anyhow::ensure!(began.elapsed() < PATIENCE, "no program stands by");
            sleep(LOOK).await;
        }
    }
}

struct Session {
    server: ProcessServer,
    pipe: Pipe<ChildStdout, ChildStdin>,
    last_id: u64,
}

impl Session {
    async fn ask(&mut self) -> anyhow::Result<u64> {
        self.last_id += 1;
        let ask = json!({"name": "ask", "arguments": {"prompt": PROMPT}});
        self.pipe.send(&request(self.last_id, "tools/call", &ask)).await?;
        Ok(self.last_id)
    }

    /// The text of the answer to a call that went well.
    async fn answer(&mut self, id: u64) -> anyhow::Result<String> {
        loop {
            let message: Value = serde_json::from_str(&self.pipe.line().await?)?;
            if message["id"] == id {
                return text_of(&message);
            }
        }
    }

    /// Reads the answers to its last calls, in whatever order they come.
    async fn answers(&mut self, count: u64) -> anyhow::Result<()> {
        for _ in 0..count {
            text_of(&serde_json::from_str(&self.pipe.line().await?)?)?;
        }
        Ok(())
    }

    fn descriptors(&self) -> usize {
        let folder = self.server.id().map(|id| format!("/proc/{id}/fd"));
        folder.and_then(|folder| std::fs::read_dir(folder).ok()).map_or(0, Iterator::count)
    }
}

fn text_of(message: &Value) -> anyhow::Result<String> {
    anyhow::ensure!(message["result"]["isError"] != true, "the agent did not answer: {message}");
    Ok(message["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned())
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

/// The middle of the times, in milliseconds.
fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    milliseconds(times[times.len() / 2])
}

/// Both are taken in turn, so that a busy machine is slow for both.
async fn added_ms(binary: &Path, agent: &Path) -> anyhow::Result<f64> {
    let answer = Answer { says: Says::Text("forty-two".to_owned()), ..Answer::default() };
    let machine = Machine::with(answer, binary, agent)?;
    let mut session = machine.session().await?;
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for number in 0..QUESTIONS {
        let began = Instant::now();
        let id = session.ask().await?;
        let text = session.answer(id).await?;
        ours.push(began.elapsed());
        anyhow::ensure!(text.contains("forty-two"), "another answer came: {text}");
        let mut command = Command::new(machine.agents.program(Agent::Copilot));
        // What the program does with a session is its own cost.
        let session = format!("--session-id=00000000-0000-4000-8000-{number:012}");
        command.args([&format!("--prompt={PROMPT}"), "--output-format=json", "--allow-all-tools", &session]);
        command.env_clear().envs(machine.agents.environment()).current_dir(machine.agents.project());
        let began = Instant::now();
        let output = command.output().await?;
        bare.push(began.elapsed());
        anyhow::ensure!(output.status.success(), "the bare program failed: {output:?}");
    }
    Ok(median(ours) - median(bare))
}

/// Questions one after another, each when a program stands by for it.
async fn warm_ms(binary: &Path, agent: &Path) -> anyhow::Result<f64> {
    let answer = Answer { says: Says::Text("forty-two".to_owned()), ..Answer::default() };
    let machine = Machine::with(answer, binary, agent)?;
    let mut session = machine.session_with(&[("ENTRACLAW_ASK_WARM", "1")]).await?;
    let first = session.ask().await?;
    session.answer(first).await?;
    let mut times = Vec::new();
    while times.len() < WARM_QUESTIONS {
        machine.until_ready().await?;
        let began = Instant::now();
        let id = session.ask().await?;
        let text = session.answer(id).await?;
        times.push(began.elapsed());
        anyhow::ensure!(text.contains("process: warm"), "it was not asked where it stands by: {text}");
    }
    Ok(median(times))
}

async fn cancel_ms(binary: &Path, agent: &Path, is_deaf: bool) -> anyhow::Result<f64> {
    let answer = Answer {
        after_ms: WORKS_MS,
        children: 2,
        ignores_term: is_deaf,
        children_ignore_term: is_deaf,
        ..Answer::default()
    };
    let machine = Machine::with(answer, binary, agent)?;
    let mut session = machine.session().await?;
    let mut slowest = Duration::ZERO;
    for _ in 0..CANCELS {
        let id = session.ask().await?;
        machine.until_running(3).await?;
        let cancel =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
        session.pipe.send(&cancel).await?;
        slowest = slowest.max(machine.until_running(0).await?);
    }
    Ok(milliseconds(slowest))
}

async fn long(binary: &Path, agent: &Path) -> anyhow::Result<Option<(f64, f64)>> {
    let answer = Answer { stdout_bytes: Some(LONG_BYTES), stream_every_ms: Some(0), ..Answer::default() };
    let machine = Machine::with(answer, binary, agent)?;
    let mut session = machine.session().await?;
    let id = session.ask().await?;
    let server = session.server.id();
    let (mut of_server, mut of_job) = (None, None);
    let watched = async {
        loop {
            of_server = peak_megabytes(server).or(of_server);
            of_job = peak_megabytes(job_of(&machine.home)).or(of_job);
            sleep(LOOK).await;
        }
    };
    let text = tokio::select! {
        biased;
        text = session.answer(id) => text?,
        () = watched => String::new(),
    };
    anyhow::ensure!(text.contains(&format!("{LONG_BYTES} bytes")), "the answer is not whole: {text:.300}");
    Ok(of_server.zip(of_job))
}

/// The process of the one job of a home folder.
#[expect(clippy::disallowed_methods, reason = "the command line's edge looks at a real job")]
fn job_of(home: &Path) -> Option<u32> {
    let mut jobs = std::fs::read_dir(home.join("work")).ok()?.flatten();
    let trace = jobs.find_map(|job| std::fs::read(job.path().join("process.json")).ok())?;
    let trace: Value = serde_json::from_slice(&trace).ok()?;
    trace["process"].as_str()?.split('-').next()?.parse().ok()
}

/// Many questions at once: the most agents that ran at once, and the descriptors that the servers have not given back.
async fn many(binary: &Path, agent: &Path) -> anyhow::Result<(usize, usize)> {
    let machine = Machine::with(Answer { after_ms: SHORT_MS, ..Answer::default() }, binary, agent)?;
    let mut sessions = Vec::new();
    for _ in 0..SESSIONS {
        let mut session = machine.session().await?;
        // What is opened once for the first question stays.
        let id = session.ask().await?;
        session.answer(id).await?;
        sessions.push(session);
    }
    let before: usize = sessions.iter().map(Session::descriptors).sum();
    for session in &mut sessions {
        for _ in 0..CALLS_EACH {
            session.ask().await?;
        }
    }
    let mut most = 0;
    let answers = join_all(sessions.iter_mut().map(|session| session.answers(CALLS_EACH)));
    let watched = async {
        loop {
            most = most.max(machine.agents.running());
            sleep(LOOK).await;
        }
    };
    tokio::select! {
        biased;
        answers = answers => answers.into_iter().collect::<anyhow::Result<()>>()?,
        () = watched => {}
    }
    machine.until_running(0).await?;
    let after: usize = sessions.iter().map(Session::descriptors).sum();
    Ok((most, after.saturating_sub(before)))
}
