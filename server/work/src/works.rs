//! The caller's side: beginning a job and waiting for it as long as the host waits.
//! It must never take a result that the inbox was given, nor leave one that neither gets.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use entraclaw_inbox::record::WORK_ID;
use entraclaw_seams::clock::Clock;
use entraclaw_seams::processes::{Processes, Program};
use entraclaw_seams::random::Random;
use entraclaw_seams::storage::{Lock, Storage};
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::claim::{Claim, Move};
use crate::collect::{Collector, JOBS_MAX};
use crate::folder::{CALLERS, Folder, SPOOL, caller_path, ids};
use crate::request::{Ask, Ended, Request, TITLE_CHARS_MAX, WorkResult};

/// Between two looks at a result, where the disk does not tell of it.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What [`Works`] is made of.
#[derive(Clone)]
pub struct WorksParts {
    /// The home folder.
    pub storage: Arc<dyn Storage>,
    /// Its path, which a job's process is told; empty where it has none.
    pub home: String,
    /// When a job was asked for.
    pub clock: Arc<dyn Clock>,
    /// Ids.
    pub random: Arc<dyn Random>,
    /// What starts a job.
    pub processes: Arc<dyn Processes>,
    /// This program's file.
    pub program: PathBuf,
}

/// What begins jobs for one session; a cheap clone. While it or a job of it lives, the session counts as alive.
#[derive(Clone)]
pub struct Works {
    parts: WorksParts,
    session: String,
    lock: Arc<Mutex<Option<Box<dyn Lock>>>>,
}

/// Why a job did not begin.
#[derive(Debug, thiserror::Error)]
pub enum BeginError {
    /// There are too many.
    #[error(
        "{JOBS_MAX} jobs are kept already, and none of them may go yet; wait until some have ended, or cancel some"
    )]
    TooMany,
    /// The home folder did not take it.
    #[error(
        "the job could not be written below work/ in the home folder: {0}; make room, or repair the folder"
    )]
    Storage(#[from] io::Error),
    /// Its process did not start.
    #[error("the job's process could not be started: {0}; try again when fewer programs run")]
    Start(io::Error),
}

/// What a caller is given: the result in time, or a ticket.
#[derive(Debug)]
pub enum Reply {
    /// The job has ended.
    Done(Box<Claimed>),
    /// The job goes on, and its result will come to the inbox.
    Ticket(Ticket),
}

/// The promise of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    /// The job.
    pub id: String,
    /// What the model is told.
    pub text: String,
}

impl Works {
    /// For one session.
    pub fn new(parts: WorksParts) -> Self {
        let session = parts.random.uuid();
        Self { parts, session, lock: Arc::default() }
    }

    /// Begins a job. Its result is the caller's as long as the job that is returned is waited for; after that it is the
    /// inbox's.
    ///
    /// # Errors
    /// Then nothing has begun, and nothing will come.
    pub fn begin(&self, ask: Ask) -> Result<Job, BeginError> {
        let storage = &self.parts.storage;
        if ids(&**storage)?.len() >= JOBS_MAX {
            // Finished ones make room.
            let collector = Collector::new(
                self.parts.storage.clone(),
                self.parts.clock.clone(),
                self.parts.processes.clone(),
            );
            collector.make_room(JOBS_MAX / 2)?;
            if ids(&**storage)?.len() >= JOBS_MAX {
                return Err(BeginError::TooMany);
            }
        }
        self.show_that_this_session_lives()?;
        let id = format!("{WORK_ID}{}", self.parts.random.uuid());
        let request = Request {
            v: 1,
            id: id.clone(),
            kind: ask.kind,
            what: ask.what,
            title: ask.title.chars().take(TITLE_CHARS_MAX).collect(),
            consumer: ask.consumer,
            host: ask.host,
            session: self.session.clone(),
            asked_at: self.parts.clock.now().to_string(),
            limits: ask.limits,
        };
        let folder = Folder::new(storage.clone(), &id);
        if let Err(error) = folder.create(&request) {
            let _ = folder.remove();
            return Err(error.into());
        }
        let home = (!self.parts.home.is_empty()).then(|| ["--home".to_owned(), self.parts.home.clone()]);
        let arguments = ["work".to_owned(), id.clone(), "--detach".to_owned()].into_iter();
        let program = Program {
            file: self.parts.program.clone(),
            arguments: arguments.chain(home.into_iter().flatten()).collect(),
        };
        if let Err(error) = self.parts.processes.start_detached(&program) {
            // Under its lock no process can have begun it.
            if let Ok(Some(_lock)) = folder.lock() {
                let _ = folder.remove();
            }
            return Err(BeginError::Start(error));
        }
        Ok(Job { folder, title: request.title, is_decided: false, session: self.clone() })
    }

    /// Asks a job to stop, also one that another session began. Its process tidies up and says that it was cancelled.
    ///
    /// # Errors
    /// What the disk says. `Ok(false)` where there is no such job or it has ended.
    pub fn cancel(&self, id: &str) -> io::Result<bool> {
        if !crate::folder::is_id(id) {
            return Ok(false);
        }
        cancel(&Folder::new(self.parts.storage.clone(), id))
    }

    fn show_that_this_session_lives(&self) -> io::Result<()> {
        let mut held = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        if held.is_none() {
            self.parts.storage.create_dir(CALLERS)?;
            *held = self.parts.storage.try_lock(&caller_path(&self.session))?;
        }
        Ok(())
    }
}

fn cancel(folder: &Folder) -> io::Result<bool> {
    if folder.request()?.is_none() || folder.has_result()? {
        return Ok(false);
    }
    folder.ask_to_cancel()?;
    Ok(true)
}

/// A job that its caller waits for. Dropped before it is decided, its result goes to the inbox.
pub struct Job {
    folder: Folder,
    title: String,
    is_decided: bool,
    session: Works,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").field("id", &self.folder.id).finish_non_exhaustive()
    }
}

impl Job {
    /// Its id.
    pub fn id(&self) -> &str {
        &self.folder.id
    }

    /// Asks it to stop; see [`Works::cancel`].
    ///
    /// # Errors
    /// What the disk says.
    pub fn cancel(&self) -> io::Result<bool> {
        cancel(&self.folder)
    }

    /// Waits for the result until `deadline`. A result that is there in time is the caller's alone; otherwise the inbox
    /// gets it, and the caller a ticket.
    pub async fn until(mut self, deadline: Instant) -> Reply {
        let mut news = self.folder.storage.changes(SPOOL);
        loop {
            if let Some(claimed) = self.try_take() {
                return Reply::Done(Box::new(claimed));
            }
            if Instant::now() >= deadline {
                return Reply::Ticket(self.let_go());
            }
            // A folder that is watched may be on a medium that misses a change.
            let look_at = match &news {
                Some(news) if news.is_complete() => deadline,
                _ => deadline.min(Instant::now() + LOOK_EVERY),
            };
            match &mut news {
                Some(news) => {
                    let _ = timeout_at(look_at, news.next()).await;
                }
                None => sleep_until(look_at).await,
            }
        }
    }

    /// Does not wait: the result goes to the inbox.
    pub fn let_go(mut self) -> Ticket {
        self.release();
        let id = self.folder.id.clone();
        let title = &self.title;
        let text = format!(
            "still working on: {title}. The result will come to your inbox by itself, once, as a message of the channel work \
             with the id {id}. Go on with something else, and don't call again for it."
        );
        Ticket { id, text }
    }

    fn try_take(&mut self) -> Option<Claimed> {
        if !self.folder.has_result().unwrap_or(false) {
            return None;
        }
        let result = self.folder.result().ok().flatten()?;
        // Where it can't be taken, another process has taken this one for dead, and the inbox brings the result.
        if !self.folder.take(Claim::Open, Move::Take).unwrap_or(false) {
            return None;
        }
        self.is_decided = true;
        Some(Claimed {
            folder: self.folder.clone(),
            result,
            is_handed_on: false,
            _session: self.session.clone(),
        })
    }

    fn release(&mut self) {
        if std::mem::replace(&mut self.is_decided, true) {
            return;
        }
        // What can't be written now is done by the session that leads when this one has ended.
        if let Err(error) = self.folder.take(Claim::Open, Move::LetGo) {
            tracing::warn!(%error, id = self.folder.id, "a result waits for the end of this session");
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.release();
    }
}

/// A result that the caller has. Dropped before it is handed on, it goes to the inbox, marked.
pub struct Claimed {
    folder: Folder,
    result: WorkResult,
    is_handed_on: bool,
    _session: Works,
}

impl std::fmt::Debug for Claimed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Claimed").field("result", &self.result).finish_non_exhaustive()
    }
}

impl Claimed {
    /// What came of the job.
    pub fn result(&self) -> &WorkResult {
        &self.result
    }

    /// Whether it did what was asked.
    pub fn is_done(&self) -> bool {
        self.result.ended == Ended::Done
    }

    /// The caller has handed it on, so that the inbox never gets it.
    pub fn hand_on(mut self) -> WorkResult {
        self.is_handed_on = true;
        match self.folder.take(Claim::Claimed, Move::HandOn) {
            Ok(_) => {
                let _ = self.folder.unspool();
            }
            Err(error) => tracing::warn!(%error, id = self.folder.id, "a result may come to the inbox again"),
        }
        self.result.clone()
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        if !self.is_handed_on {
            let _ = self.folder.take(Claim::Claimed, Move::TakeBack);
        }
    }
}
