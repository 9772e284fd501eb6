//! The caller's side: begins a job and waits for it as long as the host waits.
//! It must never take a result that belongs to the inbox, nor leave a result that neither gets.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use entraclaw_inbox::record::WORK_ID;
use entraclaw_seams::clock::Clock;
use entraclaw_seams::processes::{Processes, Program};
use entraclaw_seams::random::Random;
use entraclaw_seams::storage::{Lock, Storage};
use serde_json::Value;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::claim::{Claim, Move};
use crate::collect::{Collector, JOBS_MAX};
use crate::folder::{CALLERS, Folder, SPOOL, caller_path, ids};
use crate::look::Events;
use crate::request::{Ask, Ended, Request, TITLE_CHARS_MAX, WorkResult};
use crate::standby::{Plan, Standing};

/// The pause between two looks at a result, if the disk does not report changes.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long a process that stands by may take to take a job: about as long as a program takes to start, and twice the pause
/// after which a process looks that was not told of a change.
const TAKEN_WITHIN: Duration = Duration::from_secs(1);

/// The parts of [`Works`].
#[derive(Clone)]
pub struct WorksParts {
    /// The home folder.
    pub storage: Arc<dyn Storage>,
    /// The path of the home folder for a job's process; empty if it has none.
    pub home: String,
    /// The clock for the times in requests.
    pub clock: Arc<dyn Clock>,
    /// The source of ids.
    pub random: Arc<dyn Random>,
    /// The system's processes, which start a job.
    pub processes: Arc<dyn Processes>,
    /// The path of this program.
    pub program: PathBuf,
}

/// Begins jobs for one session. Clones are cheap; while one of them or one of its jobs exists, the session counts as
/// running.
#[derive(Clone)]
pub struct Works {
    parts: WorksParts,
    session: String,
    lock: Arc<Mutex<Option<Box<dyn Lock>>>>,
}

/// Why a job did not begin.
#[derive(Debug, thiserror::Error)]
pub enum BeginError {
    /// Too many jobs are kept.
    #[error(
        "{JOBS_MAX} jobs are kept already, and none of them may go yet; wait until some have ended, or cancel some"
    )]
    TooMany,
    /// The home folder can't be written.
    #[error(
        "the job could not be written below work/ in the home folder: {0}; make room, or repair the folder"
    )]
    Storage(#[from] io::Error),
    /// The process of the job did not start.
    #[error("the job's process could not be started: {0}; try again when fewer programs run")]
    Start(io::Error),
}

/// The reply to a caller: the result in time, or a ticket.
pub enum Reply {
    /// The job has ended.
    Done(Box<Claimed>),
    /// The job goes on, and its result will come to the inbox.
    Ticket(Ticket),
}

/// The promise of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    /// The id of the job.
    pub id: String,
    /// The text for the model.
    pub text: String,
}

impl Works {
    /// Works for one new session.
    pub fn new(parts: WorksParts) -> Self {
        let session = parts.random.uuid();
        Self { parts, session, lock: Arc::default() }
    }

    /// Begins a job. Its result is the caller's while the caller waits for the returned job, and after that the inbox's.
    ///
    /// # Errors
    /// Fails if the job has not begun; then no result will come.
    pub fn begin(&self, ask: Ask) -> Result<Job, BeginError> {
        self.begin_at(ask, None)
    }

    /// As [`Works::begin`], by a process that stands by if it waits for a job.
    ///
    /// # Errors
    /// Fails if the job has not begun; then no result will come.
    pub fn begin_at(&self, ask: Ask, standing: Option<&Standing>) -> Result<Job, BeginError> {
        let storage = &self.parts.storage;
        if ids(&**storage)?.len() >= JOBS_MAX {
            let WorksParts { storage: own, clock, processes, .. } = self.parts.clone();
            Collector::new(own, clock, processes).make_room(JOBS_MAX / 2)?;
            if ids(&**storage)?.len() >= JOBS_MAX {
                return Err(BeginError::TooMany);
            }
        }
        self.lock_session()?;
        let id = format!("{WORK_ID}{}", self.parts.random.uuid());
        let title = ask.title.chars().take(TITLE_CHARS_MAX).collect();
        let request = Request {
            v: 1,
            id: id.clone(),
            ask: Ask { title, ..ask },
            session: self.session.clone(),
            asked_at: self.parts.clock.now().to_string(),
        };
        let folder = Folder::new(storage.clone(), &id);
        if let Err(error) = folder.create(&request) {
            let _ = folder.remove();
            return Err(error.into());
        }
        let mut job = Job {
            folder,
            title: request.ask.title,
            is_decided: false,
            session: self.clone(),
            handed_to: None,
        };
        // A process that can't be handed the job is as good as none.
        if let Some(standing) = standing.filter(|standing| standing.hand_over(&id).unwrap_or(false)) {
            job.handed_to = Some(standing.clone());
            return Ok(job);
        }
        if let Err(error) = self.start(&["work", &id]) {
            job.is_decided = true;
            // While this holds the lock, no process can begin the job.
            if let Ok(Some(_lock)) = job.folder.lock() {
                let _ = job.folder.remove();
            }
            return Err(BeginError::Start(error));
        }
        Ok(job)
    }

    /// Starts a process that gets ready for jobs of a kind, as `what` describes. At most `at_most` such processes run in this
    /// home folder; one more ends at once.
    ///
    /// # Errors
    /// Fails if the process was not started.
    pub fn stand_by(&self, kind: &str, what: Value, at_most: u32) -> Result<Standing, BeginError> {
        self.lock_session()?;
        let standing = Standing::new(self.parts.storage.clone(), &self.parts.random.uuid());
        let plan = Plan { v: 1, kind: kind.to_owned(), what, session: self.session.clone(), at_most };
        standing.write_plan(&plan)?;
        if let Err(error) = self.start(&["work", "--standby", standing.key()]) {
            let _ = standing.remove_plan();
            return Err(BeginError::Start(error));
        }
        Ok(standing)
    }

    fn start(&self, arguments: &[&str]) -> io::Result<()> {
        let home = (!self.parts.home.is_empty()).then_some(["--home", &self.parts.home]);
        let arguments = arguments.iter().copied().chain(["--detach"]).chain(home.into_iter().flatten());
        let program =
            Program { file: self.parts.program.clone(), arguments: arguments.map(str::to_owned).collect() };
        self.parts.processes.start_detached(&program)
    }

    /// Asks a job to stop, even if another session began it. Its process cleans up and reports that it was cancelled.
    ///
    /// # Errors
    /// Fails with the error of the disk. Returns `Ok(false)` if there is no such job or it has ended.
    pub fn cancel(&self, id: &str) -> io::Result<bool> {
        if !crate::folder::is_id(id) {
            return Ok(false);
        }
        cancel(&Folder::new(self.parts.storage.clone(), id))
    }

    /// The home folder with the jobs.
    pub fn storage(&self) -> &Arc<dyn Storage> {
        &self.parts.storage
    }

    fn lock_session(&self) -> io::Result<()> {
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

/// A job that its caller waits for. If it is dropped undecided, its result goes to the inbox.
pub struct Job {
    folder: Folder,
    title: String,
    is_decided: bool,
    session: Works,
    /// The process that stands by and may not have taken the job yet.
    handed_to: Option<Standing>,
}

impl Job {
    /// The id of the job.
    pub fn id(&self) -> &str {
        &self.folder.id
    }

    /// The job's events as they come.
    pub fn events(&self) -> Events {
        Events::new(self.folder.clone())
    }

    /// Asks the job to stop; see [`Works::cancel`].
    ///
    /// # Errors
    /// Fails with the error of the disk.
    pub fn cancel(&self) -> io::Result<bool> {
        cancel(&self.folder)
    }

    /// Waits for the result until `deadline`. A result in time goes to the caller alone; otherwise it goes to the inbox, and
    /// the caller gets a ticket.
    pub async fn until(mut self, deadline: Instant) -> Reply {
        match self.within(deadline).await {
            Some(claimed) => Reply::Done(Box::new(claimed)),
            None => Reply::Ticket(self.let_go()),
        }
    }

    /// Waits for the result until `deadline`. Without one the job is still the caller's, who waits again or lets it go.
    pub async fn within(&mut self, deadline: Instant) -> Option<Claimed> {
        let mut news = self.folder.storage.changes(SPOOL);
        let taken_by = Instant::now() + TAKEN_WITHIN;
        loop {
            let claimed = self.take();
            let now = Instant::now();
            if claimed.is_some() || now >= deadline {
                return claimed;
            }
            if now >= taken_by {
                self.make_sure_it_begins();
            }
            let deadline = if self.handed_to.is_some() { deadline.min(taken_by) } else { deadline };
            // Even a watched folder may be on a medium that misses a change.
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

    /// Stops waiting: the result goes to the inbox.
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

    /// Takes the result if there is one and it is still the caller's.
    pub fn take(&mut self) -> Option<Claimed> {
        if !self.folder.has_result().unwrap_or(false) {
            return None;
        }
        let result = self.folder.result().ok().flatten()?;
        // The move fails if another process took this one for ended; then the inbox brings the result.
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

    /// Starts a process for the job if the one that stood by has not taken it.
    fn make_sure_it_begins(&mut self) {
        let Some(standing) = self.handed_to.take() else { return };
        match standing.take_back(&self.folder.id) {
            Ok(true) => {
                if let Err(error) = self.session.start(&["work", &self.folder.id]) {
                    tracing::warn!(%error, id = self.folder.id, "a job could not begin and is lost");
                }
            }
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(%error, id = self.folder.id, "can't tell whether a job has begun");
            }
        }
    }

    fn release(&mut self) {
        self.make_sure_it_begins();
        if std::mem::replace(&mut self.is_decided, true) {
            return;
        }
        // If the move fails, the session that leads makes it after this session has ended.
        if let Err(error) = self.folder.take(Claim::Open, Move::LetGo) {
            tracing::warn!(%error, id = self.folder.id, "a result reaches the inbox only after this session has ended");
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.release();
    }
}

/// A result that the caller has taken. If it is dropped before it is handed on, it goes to the inbox with a mark.
pub struct Claimed {
    folder: Folder,
    result: WorkResult,
    is_handed_on: bool,
    _session: Works,
}

impl Claimed {
    /// The result of the job.
    pub fn result(&self) -> &WorkResult {
        &self.result
    }

    /// Whether it did what was asked.
    pub fn is_done(&self) -> bool {
        self.result.ended == Ended::Done
    }

    /// Notes that the caller has handed it on, so that the inbox never gets it.
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
