//! Asks one agent one question, in the job's own process.
//!
//! It must never give the program a variable that its row does not name, nor call output an answer if the program failed.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use entraclaw_sanitize::clean_text;
use entraclaw_sanitize::secrets::Secrets;
use entraclaw_seams::processes::Processes;
use entraclaw_seams::programs::{Exit, Programs, Start};
use entraclaw_seams::storage::{Lock, Storage};
use entraclaw_work::{Outcome, Running, attend};
use futures_util::FutureExt as _;
use serde_json::json;
use tokio::time::sleep;

use crate::agent::{Agent, Dialect};
use crate::failure::Class;
use crate::models::Models;
use crate::report::{Reader, Said, Usage};
use crate::scribe::Scribe;
use crate::stored::Stored;
use crate::task::Task;
use crate::ticket::whole;

/// The folder of the places: an agent runs only while its job holds the lock of one.
const PLACES: &str = "agents";
/// The pause between two looks for a free place.
const PLACE_EVERY: Duration = Duration::from_millis(250);
/// The model where none is asked for and the agent tells none.
const OWN_DEFAULT: &str = "its own default";
/// Most files that are named in a result.
const FILES_MAX: usize = 20;
/// Most bytes of an error message.
const MESSAGE_BYTES_MAX: usize = 4 * 1024;

/// The kind `agent`.
#[derive(Clone)]
pub struct AgentKind {
    /// The environment from which each agent gets its part.
    pub environment: Vec<(String, String)>,
    /// Starts the agents' programs.
    pub programs: Arc<dyn Programs>,
    /// The system's processes.
    pub processes: Arc<dyn Processes>,
    /// The home folder.
    pub storage: Arc<dyn Storage>,
    /// What the agents have stored.
    pub stored: Arc<dyn Stored>,
    /// The path of the home folder; empty if it has none.
    pub home: PathBuf,
}

impl AgentKind {
    pub(crate) async fn ask(self, running: Running) -> Outcome {
        let (mut task, row) = match Self::task(&running) {
            Ok(found) => found,
            Err(problem) => return Outcome::Failed(problem),
        };
        state(&running, &task);
        if task.warm.is_some() {
            running.state("process", "cold");
        }
        let _place = match self.place_of(&running, &task, row).await {
            Ok(place) => place,
            Err(outcome) => return outcome,
        };
        let environment = self.environment_of(row);
        if let Some(asked) = &task.if_listed {
            let models = Models { storage: &*self.storage, programs: &self.programs, running: &running };
            let program = task.argv.first().cloned().unwrap_or_default();
            if models.lists(row, asked, &program, task.folder.clone(), environment.clone()).await {
                task.argv.extend(row.model.with(&asked.model).unwrap_or_default());
                running.state("model", asked.model.clone());
            }
            if running.stopped().now_or_never().is_some() {
                return Outcome::Cancelled;
            }
        }
        let start = Start {
            argv: task.argv.clone(),
            folder: task.folder.clone(),
            environment,
            has_input: task.input.is_some(),
        };
        let child = match self.programs.start(&start) {
            Ok(child) => child,
            Err(error) => return Outcome::Failed(not_started(row, &start, &error)),
        };
        let dialect = if task.reports { row.report.1 } else { Dialect::Text };
        let mut reader = Reader::new(dialect);
        let mut listener = Listener::new(&running, self.secrets_of(row));
        let input = task.input.map(String::into_bytes);
        let attended =
            attend(child, input, &running, |bytes| reader.take(bytes, &mut |said| listener.hear(said))).await;
        reader.finish(&mut |said| listener.hear(said));
        listener.end();
        if reader.left_out() > 0 {
            running.event("left out", json!({"lines": reader.left_out()}));
        }
        match attended {
            Ok(attended) => match attended.exit {
                None => Outcome::Cancelled,
                Some(exit) => listener.outcome(row, exit, &attended.complaint),
            },
            Err(error) => Outcome::Failed(format!(
                "{} error: its process could not be recorded in the job's folder: {error}",
                row.title
            )),
        }
    }

    /// The task of a job.
    pub(crate) fn task(running: &Running) -> Result<(Task, &'static Agent), String> {
        let task = serde_json::from_value::<Task>(running.request.ask.what.clone());
        let task = task.map_err(|error| error.to_string());
        let found = task.and_then(|task| Ok((task.row()?, task))).map(|(row, task)| (task, row));
        found.map_err(|problem| format!("the agent can't be asked: {problem}"))
    }

    /// The part of the environment that this agent gets.
    pub(crate) fn environment_of(&self, row: &Agent) -> Vec<(String, String)> {
        self.environment.iter().filter(|(name, _)| row.takes(name)).cloned().collect()
    }

    /// The secrets that this agent is given.
    pub(crate) fn secrets_of(&self, row: &Agent) -> Secrets {
        let environment = self.environment_of(row).into_iter();
        Secrets::new(environment.filter(|(name, _)| Secrets::is_named(name)).map(|(_, value)| value))
    }

    /// The place of a question, or how the job ends without one.
    pub(crate) async fn place_of(
        &self,
        running: &Running,
        task: &Task,
        row: &Agent,
    ) -> Result<Box<dyn Lock>, Outcome> {
        match self.place(running, task.at_once).await {
            Ok(Some(place)) => Ok(place),
            Ok(None) => Err(Outcome::Cancelled),
            Err(error) => Err(Outcome::Failed(format!(
                "{} error: the folder `{PLACES}` in the home folder can't be used: {error}; repair it",
                row.title
            ))),
        }
    }

    /// Waits for a free place; `None` if the job must stop first.
    async fn place(&self, running: &Running, at_once: u32) -> io::Result<Option<Box<dyn Lock>>> {
        self.storage.create_dir(PLACES)?;
        let mut has_told = false;
        loop {
            for number in 0..at_once.max(1) {
                if let Some(place) = self.storage.try_lock(&format!("{PLACES}/place-{number}"))? {
                    return Ok(Some(place));
                }
            }
            if !std::mem::replace(&mut has_told, true) {
                running.event("step", json!({"says": "waits until another agent has ended"}));
            }
            tokio::select! {
                biased;
                _ = running.stopped() => return Ok(None),
                () = sleep(PLACE_EVERY) => {}
            }
        }
    }
}

/// States what is known of a question before it is asked.
pub(crate) fn state(running: &Running, task: &Task) {
    let agent = match &task.version {
        Some(version) => format!("{} {version}", task.agent),
        None => task.agent.clone(),
    };
    running.state("agent", agent);
    running.state("permissions", task.permissions.clone());
    // The report of the agent replaces it, where it has one that names the model.
    running.state("model", task.model.as_deref().unwrap_or(OWN_DEFAULT));
    if let Some(session) = &task.session {
        running.state("session", session.clone());
    }
}

fn not_started(row: &Agent, start: &Start, error: &io::Error) -> String {
    let program = start.argv.first().map(String::as_str).unwrap_or_default();
    if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) {
        return format!(
            "{} error: its program {program:?} could not be started: {error}; ask again later",
            row.title
        );
    }
    format!(
        "{} error: its program {program:?} could not be started in {}: {error} ({}: {})",
        row.title,
        start.folder.display(),
        Class::NotInstalled,
        row.install
    )
}

/// Takes what the program says to where it belongs.
pub(crate) struct Listener<'a> {
    running: &'a Running,
    secrets: Secrets,
    scribe: Scribe<Running>,
    error: Option<(String, Option<u64>)>,
    exit: Option<i64>,
    files: Vec<String>,
    used: Usage,
}

impl<'a> Listener<'a> {
    pub(crate) fn new(running: &'a Running, secrets: Secrets) -> Self {
        let scribe = Scribe::new(running.clone(), secrets.clone());
        Self { running, secrets, scribe, error: None, exit: None, files: Vec::new(), used: Usage::default() }
    }

    /// The program says no more.
    pub(crate) fn end(&mut self) {
        self.scribe.end();
    }

    /// Whether any answer is written.
    pub(crate) fn has_answer(&self) -> bool {
        self.scribe.has_written()
    }

    /// Removes what is written: the answer is told again.
    pub(crate) fn begin_anew(&mut self) {
        self.running.unsay();
        self.scribe = Scribe::new(self.running.clone(), self.secrets.clone());
    }

    pub(crate) fn hear(&mut self, said: Said) {
        match said {
            Said::Begins => self.scribe.begin(),
            Said::Text(piece) => self.scribe.write(&piece),
            Said::Step(step) => self.running.event("step", json!({"says": self.clean(&step)})),
            Said::Session(session) => self.running.state("session", session),
            Said::Model(model) => self.running.state("model", model),
            Said::Usage(usage) => {
                self.used.add(usage);
                let used = self.used.to_string();
                if !used.is_empty() {
                    self.running.state("used", used);
                }
            }
            Said::Error(message, status) => self.error = Some((message, status)),
            Said::Exit(code) => self.exit = Some(code),
            Said::Files(files) => {
                for file in files {
                    if !self.files.contains(&file) && self.files.len() < FILES_MAX {
                        self.files.push(file);
                    }
                }
                if !self.files.is_empty() {
                    self.running.state("changed", self.files.join(" "));
                }
            }
        }
    }

    fn clean(&self, text: &str) -> String {
        let clean = clean_text(text);
        let beginning = &clean.as_bytes()[..clean.len().min(MESSAGE_BYTES_MAX)];
        self.secrets.hide(whole(beginning, clean.len() as u64).trim()).into_owned()
    }

    /// The rule of the contract: any exit code but 0 is an error, also with an answer; no answer with a complaint is an
    /// error; neither is an answer that says so.
    pub(crate) fn outcome(mut self, row: &Agent, exit: io::Result<Exit>, complaint: &str) -> Outcome {
        let exit = match exit {
            Ok(exit) => exit,
            Err(error) => {
                return Outcome::Failed(format!("{} error: it is unknown how it ended: {error}", row.title));
            }
        };
        let has_answer = self.scribe.has_written();
        let is_success = exit.is_success() && self.exit.is_none_or(|code| code == 0);
        // An error that it has overcome is no failure.
        if is_success && has_answer {
            return Outcome::Done;
        }
        if is_success && self.error.is_none() && complaint.is_empty() {
            self.scribe.write(&format!("No response from {}", row.title));
            self.scribe.end();
            return Outcome::Done;
        }
        let (message, status) = self.error.take().unwrap_or_default();
        let message = match (message.is_empty(), complaint) {
            (false, _) => message,
            (true, "") => format!("it ended with {exit} and said nothing on stderr"),
            (true, complaint) => complaint.to_owned(),
        };
        let class = status.map_or_else(|| Class::of_words(&message), Class::of_status);
        self.running.state("error", class.as_str());
        let message = self.clean(&message);
        let message = message.strip_prefix("Error: ").unwrap_or(&message);
        Outcome::Failed(format!("{} error: {message} ({class}: {})", row.title, class.remedy(row.sign_in)))
    }
}
