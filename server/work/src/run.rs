//! The process of a job: it takes the job's lock, runs the kind of work, writes the result and spools its id.
//! It must never write a second result, nor go on after it was asked to stop.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use entraclaw_seams::clock::Clock;
use entraclaw_seams::processes::{Ending, ProcessId, Processes};
use entraclaw_seams::storage::{AppendFile, Lock, Storage};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use crate::folder::{EVENTS, Folder, OUTPUT};
use crate::request::{Ended, Request, TEXT_BYTES_MAX, Trace, WorkResult};

/// How long a kind may take to stop; then its processes are ended and it is dropped.
const STOP_GRACE: Duration = Duration::from_secs(2);
/// Most bytes of the file of events; later ones are left out.
const EVENTS_BYTES_MAX: u64 = 256 * 1024;
/// How often to try to write a result, with a pause after each failure.
const WRITE_TRIES: u32 = 60;
const WRITE_PAUSE: Duration = Duration::from_secs(1);
/// Most rounds of ending the remaining processes below this one.
const END_ROUNDS: u32 = 20;
/// How long the lock of a job may be held by a session that looks whether the job is lost, and the pause between two tries.
const LOCK_WAIT: Duration = Duration::from_secs(1);
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// How a kind of work ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It did what was asked.
    Done,
    /// It could not do it, and why.
    Failed(String),
    /// It stopped because it was asked to.
    Cancelled,
}

/// Why a job must stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// It was cancelled.
    Asked,
    /// It took too long.
    TimeOver,
}

/// A kind of work.
pub trait Kind: Send + Sync {
    /// The name of the kind in requests.
    fn name(&self) -> &'static str;
    /// Does the work. It awaits [`Running::stopped`] and ends soon after; processes that it leaves behind are ended.
    fn run(&self, running: Running) -> BoxFuture<'static, Outcome>;

    /// Gets ready for jobs that are asked later, as `what` describes.
    ///
    /// # Errors
    /// Says why it can't get ready. Most kinds have nothing that they could get ready.
    fn prepare(&self, _what: Value) -> BoxFuture<'static, Result<Box<dyn Prepared>, String>> {
        let name = self.name();
        async move { Err(format!("work of the kind `{name}` has nothing to get ready")) }.boxed()
    }
}

/// A kind of work that is ready for a job.
pub trait Prepared: Send {
    /// The processes that it keeps between jobs.
    fn spared(&self) -> Vec<ProcessId>;
    /// Does the work of a job, as [`Kind::run`] does.
    fn run(&mut self, running: Running) -> BoxFuture<'_, Outcome>;
    /// Gets ready for the next job; `false` if it must not take another one.
    fn renew(&mut self) -> BoxFuture<'_, bool>;
    /// Waits until it can't take a job any more.
    fn ended(&mut self) -> BoxFuture<'_, ()>;
    /// Ends what it keeps.
    fn end(self: Box<Self>) -> BoxFuture<'static, ()>;
}

/// The kinds of work that a process can do.
#[derive(Default)]
pub struct Kinds(Vec<Box<dyn Kind>>);

impl Kinds {
    /// Adds a kind.
    #[must_use]
    pub fn with(mut self, kind: impl Kind + 'static) -> Self {
        self.0.push(Box::new(kind));
        self
    }

    pub(crate) fn get(&self, name: &str) -> Option<&dyn Kind> {
        self.0.iter().find(|kind| kind.name() == name).map(|kind| &**kind)
    }
}

/// The parts of a job's process.
pub struct RunParts {
    /// The home folder.
    pub storage: Arc<dyn Storage>,
    /// The clock for the times in the result.
    pub clock: Arc<dyn Clock>,
    /// The system's processes.
    pub processes: Arc<dyn Processes>,
    /// The number of this process.
    pub pid: u32,
    /// The kinds of work that it can do.
    pub kinds: Kinds,
    /// The pause between two checks for a cancel. A signal reports it sooner.
    pub look_every: Duration,
}

/// Why a job was not run by this process.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// No job has this id.
    #[error("no job has the id {0}; `entraclaw status` lists the jobs")]
    Unknown(String),
    /// Another process runs it.
    #[error("the job {0} runs already; wait for its result")]
    Runs(String),
    /// The job has ended.
    #[error("the job {0} has ended already; its result is on its way")]
    HasEnded(String),
    /// The home folder can't be read or written.
    #[error("the job's folder below work/ can't be used: {0}; repair it")]
    Storage(#[from] io::Error),
}

/// A running job, as its kind sees it. Clones are cheap.
#[derive(Clone)]
pub struct Running {
    /// The request of the job.
    pub request: Arc<Request>,
    /// The system's processes.
    pub processes: Arc<dyn Processes>,
    folder: Folder,
    clock: Arc<dyn Clock>,
    stop: watch::Receiver<Option<Stop>>,
    said: Arc<Mutex<Said>>,
}

/// The output of a job so far.
#[derive(Default)]
struct Said {
    head: Vec<u8>,
    total: u64,
    kept: u64,
    output: Option<Box<dyn AppendFile>>,
    output_failed: bool,
    events: Option<Box<dyn AppendFile>>,
    events_bytes: u64,
    facts: Map<String, Value>,
    trace: Trace,
    questions: u64,
}

impl Running {
    /// Waits until the job must stop.
    pub async fn stopped(&self) -> Stop {
        let mut stop = self.stop.clone();
        let why = stop.wait_for(Option::is_some).await.map(|why| *why);
        match why {
            Ok(why) => why.unwrap_or(Stop::Asked),
            Err(_) => std::future::pending().await,
        }
    }

    /// Adds to the output. Bytes beyond the bounds are only counted.
    pub fn say(&self, bytes: &[u8]) {
        let mut said = self.said();
        let limits = self.request.ask.limits;
        said.total += bytes.len() as u64;
        let room = limits.text_bytes.min(TEXT_BYTES_MAX).saturating_sub(said.head.len());
        let fits = room.min(bytes.len());
        said.head.extend_from_slice(&bytes[..fits]);
        let room = usize::try_from(limits.output_bytes.saturating_sub(said.kept)).unwrap_or(usize::MAX);
        let keep = &bytes[..room.min(bytes.len())];
        if keep.is_empty() || said.output_failed {
            return;
        }
        if said.output.is_none() {
            said.output = self.folder.storage.append(&self.folder.path(OUTPUT), true).ok();
        }
        match said.output.as_mut().map(|file| file.append(keep)) {
            Some(Ok(())) => said.kept += keep.len() as u64,
            // The beginning is in memory, and the result states that the rest is not kept.
            _ => said.output_failed = true,
        }
    }

    /// Removes the output so far. Bytes that the disk does not let go are still counted as kept.
    pub fn unsay(&self) {
        let mut said = self.said();
        said.head.clear();
        said.total = 0;
        if let Some(Ok(())) = said.output.as_mut().map(|file| file.truncate(0)) {
            said.kept = 0;
            said.output_failed = false;
        }
    }

    /// Writes an event as a line of the file of events, for the caller that waits. A power cut may take it.
    pub fn event(&self, name: &str, detail: Value) {
        let mut said = self.said();
        let mut line = json!({"at": self.clock.now().to_string(), "event": name});
        if let (Some(line), Value::Object(detail)) = (line.as_object_mut(), detail) {
            line.extend(detail);
        }
        let line = format!("{line}\n");
        said.events_bytes += line.len() as u64;
        if said.events_bytes > EVENTS_BYTES_MAX {
            return;
        }
        if said.events.is_none() {
            said.events = self.folder.storage.append(&self.folder.path(EVENTS), true).ok();
        }
        if let Some(events) = &mut said.events {
            let _ = events.append(line.as_bytes());
        }
    }

    /// States a fact about the work, which is in its result. A later fact of the same name replaces it.
    pub fn state(&self, name: &str, value: impl Into<Value>) {
        self.said().facts.insert(name.to_owned(), value.into());
    }

    /// Records a group of processes that this one has started, so that it is ended even if this process is killed.
    ///
    /// # Errors
    /// Fails with the error of the disk.
    pub fn note_group(&self, leader: &ProcessId) -> io::Result<()> {
        let mut said = self.said();
        said.trace.groups.push(leader.to_string());
        self.folder.write_trace(&said.trace)
    }

    /// The number of the next question to the caller; `None` where no event can tell it.
    pub(crate) fn next_question(&self) -> Option<u64> {
        let mut said = self.said();
        said.questions += 1;
        (said.events_bytes < EVENTS_BYTES_MAX / 2).then_some(said.questions)
    }

    pub(crate) fn folder(&self) -> &Folder {
        &self.folder
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs one job to its end. `signalled` is ready when this process is asked to stop.
///
/// # Errors
/// Fails if this process must not run the job; then nothing was changed.
pub async fn run(id: &str, parts: RunParts, signalled: impl Future<Output = ()>) -> Result<Ended, RunError> {
    run_with(id, &parts, signalled, &[], |running| {
        let name = &running.request.ask.kind;
        if let Some(kind) = parts.kinds.get(name) {
            return kind.run(running);
        }
        let problem = format!("this version of entraclaw has no work of the kind `{name}`; update it");
        async move { Outcome::Failed(problem) }.boxed()
    })
    .await
}

/// Runs one job to its end by this function. The spared processes outlive it.
pub(crate) async fn run_with<'a>(
    id: &str,
    parts: &RunParts,
    signalled: impl Future<Output = ()>,
    spared: &[ProcessId],
    does: impl FnOnce(Running) -> BoxFuture<'a, Outcome>,
) -> Result<Ended, RunError> {
    let folder = Folder::new(parts.storage.clone(), id);
    let unknown = || RunError::Unknown(id.chars().take(64).collect());
    if !crate::folder::is_id(id) {
        return Err(unknown());
    }
    let request = folder.request()?.ok_or_else(unknown)?;
    let _lock = lock(&folder).await?.ok_or_else(|| RunError::Runs(id.to_owned()))?;
    if folder.has_result()? {
        folder.spool()?;
        return Err(RunError::HasEnded(id.to_owned()));
    }
    let trace = Trace {
        process: parts.processes.identify(parts.pid).map(|id| id.to_string()),
        boot: parts.processes.boot_id(),
        groups: spared.iter().map(ToString::to_string).collect(),
    };
    folder.write_trace(&trace)?;
    let (stop, stopped) = watch::channel(None);
    let running = Running {
        request: Arc::new(request),
        processes: parts.processes.clone(),
        folder: folder.clone(),
        clock: parts.clock.clone(),
        stop: stopped,
        said: Arc::new(Mutex::new(Said { trace, ..Said::default() })),
    };
    running.event("started", json!({"pid": parts.pid}));
    let outcome = if folder.is_cancelled() {
        Outcome::Cancelled
    } else {
        work(parts, &running, &folder, &stop, signalled, does(running.clone())).await
    };
    end_all(&*parts.processes, spared).await;
    let result = result_of(&running, outcome);
    running.event("ended", json!({"ended": result.ended}));
    write(&folder, result.clone()).await?;
    Ok(result.ended)
}

/// Takes the lock of a job; `None` if another process keeps it. A process that left its job at the first try would lose it
/// whenever a session looks at the job in that moment.
async fn lock(folder: &Folder) -> io::Result<Option<Box<dyn Lock>>> {
    let until = Instant::now() + LOCK_WAIT;
    loop {
        let lock = folder.lock()?;
        if lock.is_some() || Instant::now() >= until {
            return Ok(lock);
        }
        sleep(LOCK_PAUSE).await;
    }
}

async fn work(
    parts: &RunParts,
    running: &Running,
    folder: &Folder,
    stop: &watch::Sender<Option<Stop>>,
    signalled: impl Future<Output = ()>,
    mut doing: BoxFuture<'_, Outcome>,
) -> Outcome {
    let why = {
        let cancelled = async {
            while !folder.is_cancelled() {
                sleep(parts.look_every).await;
            }
        };
        tokio::select! {
            biased;
            outcome = &mut doing => return outcome,
            () = cancelled => Stop::Asked,
            () = signalled => Stop::Asked,
            () = sleep(Duration::from_secs(running.request.ask.limits.time_s)) => Stop::TimeOver,
        }
    };
    stop.send_replace(Some(why));
    let outcome = timeout(STOP_GRACE, doing).await;
    match (why, outcome) {
        // The work was done in the same instant.
        (_, Ok(Outcome::Done)) => Outcome::Done,
        (Stop::Asked, _) => Outcome::Cancelled,
        (Stop::TimeOver, _) => {
            let limit = running.request.ask.limits.time_s;
            Outcome::Failed(format!("it took longer than {limit} s and was ended"))
        }
    }
}

/// Ends the remaining processes below this one, but for the spared ones.
pub(crate) async fn end_all(processes: &dyn Processes, spared: &[ProcessId]) {
    for _ in 0..END_ROUNDS {
        if processes.end_descendants(Ending::Kill, spared) == 0 {
            return;
        }
        sleep(Duration::from_millis(5)).await;
    }
}

fn result_of(running: &Running, outcome: Outcome) -> WorkResult {
    let (ended, reason) = match outcome {
        Outcome::Done => (Ended::Done, None),
        Outcome::Failed(reason) => (Ended::Failed, Some(reason)),
        Outcome::Cancelled => (Ended::Cancelled, None),
    };
    let mut said = running.said();
    let kept = match said.output.as_mut().map(|file| file.sync()) {
        Some(Ok(())) => said.kept,
        _ => 0,
    };
    WorkResult {
        v: 1,
        id: running.request.id.clone(),
        ended,
        reason,
        text: whole_characters(&said.head, said.total),
        total_bytes: said.total,
        kept_bytes: kept,
        facts: std::mem::take(&mut said.facts),
        ended_at: running.clock.now().to_string(),
    }
}

/// The text of the first bytes, without a character that was cut in two at the end.
fn whole_characters(head: &[u8], total: u64) -> String {
    let is_cut = total > head.len() as u64;
    match std::str::from_utf8(head) {
        Err(error) if is_cut && error.error_len().is_none() => {
            String::from_utf8_lossy(&head[..error.valid_up_to()]).into_owned()
        }
        _ => String::from_utf8_lossy(head).into_owned(),
    }
}

/// Writes the result and spools its id. On a full disk it waits for room, and the last try leaves out the text.
async fn write(folder: &Folder, mut result: WorkResult) -> io::Result<()> {
    for left in (0..WRITE_TRIES).rev() {
        let written = folder.write_result(&result).and_then(|()| folder.spool());
        match written {
            Ok(()) => return Ok(()),
            Err(error) if left == 0 => return Err(error),
            Err(_) => sleep(WRITE_PAUSE).await,
        }
        if left == 1 && !folder.has_result().unwrap_or(false) {
            result.text.clear();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use entraclaw_seams::storage::{Fault, MemoryStorage};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_result_that_the_disk_did_not_take_is_written_again_whole() {
        let disk = MemoryStorage::new();
        let folder = Folder::new(Arc::new(disk.clone()), "work-ask-0123456789abcdef");
        let result = WorkResult {
            v: 1,
            id: "work-ask-0123456789abcdef".to_owned(),
            ended: Ended::Done,
            reason: None,
            text: "Done.".to_owned(),
            total_bytes: 5,
            kept_bytes: 0,
            facts: Map::new(),
            ended_at: "2026-11-26T09:00:00Z".to_owned(),
        };
        disk.create_dir("work/work-ask-0123456789abcdef").unwrap();
        disk.fail_call(disk.calls() + 1, Fault::Error(io::ErrorKind::StorageFull));
        let began = Instant::now();
        write(&folder, result.clone()).await.unwrap();
        assert_eq!(began.elapsed(), WRITE_PAUSE);
        assert_eq!(folder.result().unwrap(), Some(result));
    }
}
