//! The job's own process with a program that stands by: it asks each question in a session of its own.
//!
//! It must never ask again what the program may have begun, nor keep a program that has left something behind.

use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use entraclaw_sanitize::secrets::Secrets;
use entraclaw_seams::processes::{Ending, ProcessId};
use entraclaw_seams::programs::{Child, Exit, Output, Start};
use entraclaw_work::{Outcome, Prepared, Running, keep_tail};
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use serde_json::json;
use tokio::io::AsyncReadExt as _;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use super::connection::{Connection, Update};
use super::turn::{self, Stored, Turn};
use super::wish::Wish;
use crate::agent::Agent;
use crate::failure::NOT_PERMITTED;
use crate::kind::{AgentKind, Listener};
use crate::models::was_listed;
use crate::report::Said;
use crate::task::{Warm, WarmLine};
use crate::wait::{PERMITTED, USER_PATIENCE};

/// The folder below the home folder for temporary files of programs that must not write into the system's, and the
/// variables that name it.
const TEMPORARY: &str = "agents/temporary";
const TEMPORARY_BY: [&str; 3] = ["TMPDIR", "TEMP", "TMP"];
/// How long the program may take to be ready: it may have to unpack itself first.
const READY_MAX: Duration = Duration::from_secs(60);
/// How long it may take to begin or to load a session.
const SESSION_MAX: Duration = Duration::from_secs(10);
/// How long it may take to stop a prompt, and then to end.
const STOP_GRACE: Duration = Duration::from_millis(150);
/// How long the events of a turn may be under way after its end, and the pause between two looks.
const EVENTS_MAX: Duration = Duration::from_millis(300);
const EVENTS_LOOK: Duration = Duration::from_millis(10);
/// Most bytes of the events of one turn.
const EVENTS_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// How long what a session has started may take to end with it.
const LEFT_GRACE: Duration = Duration::from_millis(200);
/// Most memory that the program and what is below it may have to take another question.
const MEMORY_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// Most questions to one program.
const QUESTIONS_MAX: u32 = 50;

/// A program that stands by.
pub(crate) struct WarmAgent {
    kind: AgentKind,
    row: &'static Agent,
    line: WarmLine,
    leader: Option<ProcessId>,
    ended: Pin<Box<dyn Future<Output = std::io::Result<Exit>> + Send>>,
    has_ended: bool,
    connection: Connection,
    complaint: Complaint,
    /// The session of the next question.
    session: Option<String>,
    /// The session of the last question, if it is not closed yet.
    open: Option<String>,
    /// What is below the program between two questions.
    kept: Vec<ProcessId>,
    questions: u32,
    /// Whether it may be asked again.
    is_good: bool,
}

impl WarmAgent {
    /// Starts the program and waits until it is ready for a question.
    ///
    /// # Errors
    /// Says why it is not.
    pub(crate) async fn start(kind: AgentKind, line: WarmLine) -> Result<Self, String> {
        let row = line.row()?;
        let mut argv = line.argv.clone();
        // The question before has asked the program, if it was not known.
        let listed = line.if_listed.as_ref().filter(|asked| was_listed(&*kind.storage, asked));
        argv.extend(listed.and_then(|asked| row.model.with(&asked.model)).unwrap_or_default());
        let environment = environment(&kind, row, &argv)?;
        let start = Start { argv, folder: line.folder.clone(), environment, has_input: true };
        let child = kind.programs.start(&start).map_err(|error| error.to_string())?;
        let Child { leader, input, output, errors, ended } = child;
        let complaint = Complaint::read(errors);
        let Some(input) = input else { return Err("its program has no input".to_owned()) };
        let opens = async {
            let mut connection = Connection::open(input, output).await?;
            let session = connection.begin_session(&line.folder).await?;
            Ok::<_, String>((connection, session))
        };
        let opened = timeout(READY_MAX, opens)
            .await
            .unwrap_or_else(|_| Err(format!("its program was not ready within {} s", READY_MAX.as_secs())));
        match opened {
            Ok((connection, session)) => Ok(Self {
                kept: leader.as_ref().map(|leader| kind.processes.below(leader)).unwrap_or_default(),
                kind,
                row,
                line,
                leader,
                ended,
                has_ended: false,
                connection,
                complaint,
                session: Some(session),
                open: None,
                questions: 0,
                is_good: true,
            }),
            Err(why) => {
                if let Some(leader) = &leader {
                    let _ = kind.processes.end_group(leader, Ending::Kill);
                }
                Err(match complaint.text().as_str() {
                    "" => why,
                    complaint => format!("{why}; its program says: {complaint}"),
                })
            }
        }
    }

    async fn ask(&mut self, running: Running) -> Outcome {
        let task = match AgentKind::task(&running) {
            Ok((task, _)) => task,
            Err(problem) => return Outcome::Failed(problem),
        };
        let fits = |warm: &&Warm| warm.line == self.line;
        let Some(warm) = task.warm.as_ref().filter(fits).filter(|_| self.is_good && !self.has_ended) else {
            return ask_cold(self.kind.clone(), running, "it does not stand by for this question").await;
        };
        let session = match self.session_of(warm).await {
            Ok(session) => session,
            Err(why) => {
                self.is_good = false;
                return ask_cold(self.kind.clone(), running, &why).await;
            }
        };
        crate::kind::state(&running, &task);
        running.state("session", session.clone());
        running.state("process", "warm");
        let _place = match self.kind.place_of(&running, &task, self.row).await {
            Ok(place) => place,
            Err(outcome) => return outcome,
        };
        self.questions += 1;
        self.put(&running, warm, &session, task.asks_user).await
    }

    /// The session for a question.
    async fn session_of(&mut self, warm: &Warm) -> Result<String, String> {
        let late = || format!("its program did not answer within {} s", SESSION_MAX.as_secs());
        if let Some(session) = &warm.resumes {
            let loads = self.connection.load_session(session, &self.line.folder);
            timeout(SESSION_MAX, loads).await.map_err(|_| late())??;
            return Ok(session.clone());
        }
        if let Some(session) = self.session.take() {
            return Ok(session);
        }
        let begins = self.connection.begin_session(&self.line.folder);
        timeout(SESSION_MAX, begins).await.map_err(|_| late())?
    }

    /// Puts the question and hears the answer.
    async fn put(&mut self, running: &Running, warm: &Warm, session: &str, asks_user: bool) -> Outcome {
        let events = self.events_of(session);
        let stored = self.kind.stored.clone();
        let offset = events.as_ref().map_or(0, |path| stored.len(path));
        let mut listener = Listener::new(running, self.kind.secrets_of(self.row));
        let mut turn = Turn::default();
        let secrets = self.kind.secrets_of(self.row);
        let mut wishes = FuturesUnordered::<BoxFuture<'_, (Wish, bool)>>::new();
        // From here on the program has the question, and it is never asked again.
        let mut ends = pin!(self.connection.prompt(session, &warm.prompt));
        let ended = loop {
            tokio::select! {
                biased;
                _ = running.stopped() => {
                    self.connection.cancel(session);
                    let _ = timeout(STOP_GRACE, &mut ends).await;
                    self.is_good = false;
                    self.end_program().await;
                    listener.end();
                    return Outcome::Cancelled;
                }
                ended = &mut ends => break ended,
                exit = &mut self.ended => {
                    self.has_ended = true;
                    self.is_good = false;
                    listener.end();
                    return listener.outcome(self.row, failed(exit), &self.complaint.text());
                }
                Some((wish, is_permitted)) = wishes.next() => {
                    if !is_permitted {
                        turn.refuse(wish.title.clone(), &mut |said| listener.hear(said));
                    }
                    wish.decide(is_permitted);
                }
                Some(update) = self.connection.update() => match update {
                    Update::Session(update) => turn.hear(&update, &mut |said| listener.hear(said)),
                    Update::Asks(wish) => wishes.push(decided(running, wish, &secrets, asks_user).boxed()),
                },
            }
        };
        while let Some(update) = self.connection.update_now() {
            if let Update::Session(update) = update {
                turn.hear(&update, &mut |said| listener.hear(said));
            }
        }
        listener.end();
        let reason = match ended {
            Ok(reason) => reason,
            Err(why) => {
                self.is_good = false;
                // The connection closes a moment before the program's end is told.
                if let Ok(exit) = timeout(STOP_GRACE, &mut self.ended).await {
                    self.has_ended = true;
                    return listener.outcome(self.row, failed(exit), &self.complaint.text());
                }
                listener.hear(Said::Error(why, None));
                listener.hear(Said::Exit(1));
                return listener.outcome(self.row, Ok(Exit::Code(0)), "");
            }
        };
        if let Some(path) = events {
            let read = || stored.read(&path, offset, EVENTS_BYTES_MAX).unwrap_or_default();
            settle(read, &mut turn, &mut listener).await;
        }
        if let Some(error) = turn.take_error() {
            // No stored event says that it was an answer.
            listener.hear(Said::Error(error, None));
            listener.hear(Said::Exit(1));
        } else if let Some(title) = turn.take_refused().filter(|_| !listener.has_answer()) {
            listener.hear(Said::Error(format!("{NOT_PERMITTED}{title}"), None));
            listener.hear(Said::Exit(1));
        }
        if reason != "end_turn" {
            running.state("stopped", reason);
        }
        self.leave(session.to_owned()).await;
        listener.outcome(self.row, Ok(Exit::Code(0)), "")
    }

    /// Leaves a session. If it has left something running, it is ended, and with it the program if need be.
    async fn leave(&mut self, session: String) {
        self.open = Some(session);
        if self.left().is_empty() {
            return;
        }
        self.close().await;
        let until = Instant::now() + LEFT_GRACE;
        while !self.left().is_empty() {
            if Instant::now() >= until {
                self.is_good = false;
                self.end_program().await;
                return;
            }
            sleep(EVENTS_LOOK).await;
        }
    }

    /// Closes the session of the last question.
    async fn close(&mut self) {
        if let Some(session) = self.open.take() {
            let _ = timeout(SESSION_MAX, self.connection.close_session(&session)).await;
        }
    }

    /// What runs below the program and did not before the question.
    fn left(&self) -> Vec<ProcessId> {
        let Some(leader) = &self.leader else { return Vec::new() };
        let mut below = self.kind.processes.below(leader);
        below.retain(|process| !self.kept.contains(process));
        below
    }

    async fn end_program(&mut self) {
        let Some(leader) = &self.leader else { return };
        let _ = self.kind.processes.end_group(leader, Ending::Ask);
        if !self.has_ended {
            self.has_ended = timeout(STOP_GRACE, &mut self.ended).await.is_ok();
        }
        let _ = self.kind.processes.end_group(leader, Ending::Kill);
        self.kind.processes.end_descendants(Ending::Kill, &[]);
    }

    async fn get_ready(&mut self) -> bool {
        let memory = self.leader.as_ref().and_then(|leader| self.kind.processes.memory_bytes(leader));
        if !self.is_good
            || self.has_ended
            || self.questions >= QUESTIONS_MAX
            || memory.is_some_and(|bytes| bytes > MEMORY_BYTES_MAX)
        {
            return false;
        }
        self.close().await;
        // That it begins a session shows that it is well.
        let Ok(Ok(session)) = timeout(SESSION_MAX, self.connection.begin_session(&self.line.folder)).await
        else {
            return false;
        };
        self.session = Some(session);
        self.kept = self.leader.as_ref().map(|leader| self.kind.processes.below(leader)).unwrap_or_default();
        true
    }

    /// The file of a session's events, if its name can be that of a file.
    fn events_of(&self, session: &str) -> Option<PathBuf> {
        let is_plain = session.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let folder = self.row.folder(&self.kind.environment)?;
        let events = self.row.warm.filter(|_| is_plain && !session.is_empty())?.events;
        Some(folder.join(events.replace("{}", session)))
    }
}

/// The environment of a program that stands by.
fn environment(kind: &AgentKind, row: &Agent, argv: &[String]) -> Result<Vec<(String, String)>, String> {
    let mut environment = kind.environment_of(row);
    let flag = row.warm.map(|warm| warm.without_temporary);
    if argv.iter().any(|argument| Some(argument.as_str()) == flag) {
        let folder = kind.storage.create_dir(TEMPORARY).map(|()| kind.home.join(TEMPORARY));
        let folder = folder.map_err(|error| format!("its folder for temporary files is missing: {error}"))?;
        environment.retain(|(name, _)| !TEMPORARY_BY.contains(&name.as_str()));
        environment.extend(TEMPORARY_BY.map(|name| (name.to_owned(), folder.to_string_lossy().into_owned())));
    }
    Ok(environment)
}

/// Whether a wish is permitted: by the user at the caller's client if they are asked, and else not.
async fn decided(running: &Running, wish: Wish, secrets: &Secrets, asks_user: bool) -> (Wish, bool) {
    let is_permitted = asks_user
        && running.ask_caller(&wish.says(secrets), USER_PATIENCE).await.as_deref() == Some(PERMITTED);
    (wish, is_permitted)
}

/// Asks by a process of its own.
async fn ask_cold(kind: AgentKind, running: Running, why: &str) -> Outcome {
    running.event("step", json!({"says": format!("is started anew: {why}")}));
    kind.ask(running).await
}

/// Replaces what came by what the program has stored of it.
async fn settle(read: impl Fn() -> Vec<u8>, turn: &mut Turn, listener: &mut Listener<'_>) {
    let mut events = read();
    let waits = async {
        loop {
            let (stored, _) = turn::read(&events, &mut |_| {});
            let is_told = match stored {
                Stored::Open => false,
                Stored::Ended => !turn.looks_failed(),
                Stored::Failed => true,
            };
            if is_told {
                return;
            }
            sleep(EVENTS_LOOK).await;
            events = read();
        }
    };
    let _ = timeout(EVENTS_MAX, waits).await;
    let mut said = Vec::new();
    let (stored, is_whole) = turn::read(&events, &mut |one| said.push(one));
    if stored == Stored::Open || !is_whole && stored != Stored::Failed {
        return;
    }
    turn.take_error();
    listener.begin_anew();
    for one in said {
        listener.hear(one);
    }
    listener.end();
    if stored == Stored::Failed {
        listener.hear(Said::Exit(1));
    }
}

/// A program that stands by does not end by itself while it is asked.
fn failed(exit: std::io::Result<Exit>) -> std::io::Result<Exit> {
    exit.map(|exit| if exit.is_success() { Exit::Code(1) } else { exit })
}

impl Prepared for WarmAgent {
    fn spared(&self) -> Vec<ProcessId> {
        self.leader.iter().cloned().collect()
    }

    fn run(&mut self, running: Running) -> BoxFuture<'_, Outcome> {
        self.ask(running).boxed()
    }

    fn renew(&mut self) -> BoxFuture<'_, bool> {
        self.get_ready().boxed()
    }

    fn ended(&mut self) -> BoxFuture<'_, ()> {
        async {
            loop {
                tokio::select! {
                    biased;
                    _ = &mut self.ended, if !self.has_ended => {
                        self.has_ended = true;
                        return;
                    }
                    update = self.connection.update() => {
                        // Without its output it can't be asked.
                        if update.is_none() {
                            self.is_good = false;
                            return;
                        }
                    }
                }
            }
        }
        .boxed()
    }

    fn end(mut self: Box<Self>) -> BoxFuture<'static, ()> {
        async move { self.end_program().await }.boxed()
    }
}

/// The end of what the program writes to stderr.
struct Complaint {
    tail: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Complaint {
    fn read(mut errors: Output) -> Self {
        let tail = Arc::new(Mutex::new(Vec::new()));
        let to = tail.clone();
        let reader = tokio::spawn(async move {
            let mut chunk = [0; 4096];
            while let Ok(read @ 1..) = errors.read(&mut chunk).await {
                let mut tail = to.lock().unwrap_or_else(PoisonError::into_inner);
                keep_tail(&mut tail, &chunk[..read]);
            }
        });
        Self { tail, reader }
    }

    fn text(&self) -> String {
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&tail).trim().to_owned()
    }
}

impl Drop for Complaint {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::AGENTS;
    use crate::stored::SystemStored;
    use entraclaw_seams::processes::SimulatedProcesses;
    use entraclaw_seams::programs::SystemPrograms;
    use entraclaw_seams::storage::MemoryStorage;

    fn names(argv: &[&str]) -> Vec<String> {
        let kind = AgentKind {
            environment: vec![
                ("HOME".to_owned(), "/home/alice".to_owned()),
                ("TMPDIR".to_owned(), "/tmp".to_owned()),
            ],
            programs: Arc::new(SystemPrograms),
            processes: Arc::new(SimulatedProcesses::default()),
            storage: Arc::new(MemoryStorage::new()),
            stored: Arc::new(SystemStored),
            home: "/home/alice/.entraclaw".into(),
        };
        let argv: Vec<String> = argv.iter().map(|argument| (*argument).to_owned()).collect();
        let environment = environment(&kind, &AGENTS[0], &argv).unwrap();
        let temporary = environment.into_iter().filter(|(name, _)| TEMPORARY_BY.contains(&name.as_str()));
        temporary.map(|(name, folder)| format!("{name}={folder}")).collect()
    }

    #[test]
    fn a_program_that_must_not_write_into_temporary_folders_has_one_of_its_own() {
        assert_eq!(names(&["copilot", "--acp", "--allow-all-tools"]), ["TMPDIR=/tmp"]);
        let own =
            ["TMPDIR", "TEMP", "TMP"].map(|name| format!("{name}=/home/alice/.entraclaw/agents/temporary"));
        assert_eq!(names(&["copilot", "--acp", "--disallow-temp-dir"]), own);
    }
}
