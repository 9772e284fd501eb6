//! The inbox's side of the spool: results of ended jobs without a waiting caller, and jobs whose process is gone.
//!
//! It must never report a job as lost while its process may still end well: it holds the job's lock meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use entraclaw_seams::clock::Clock;
use entraclaw_seams::processes::{Ending, Processes};
use entraclaw_seams::storage::Storage;
use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use crate::claim::{Claim, Move};
use crate::folder::{Folder, OUTPUT, SPOOL, caller_lives, ids, is_id};
use crate::request::{Ended, Request, Trace, WorkResult};

/// Most jobs whose folders are kept, finished or not.
pub const JOBS_MAX: usize = 2_000;
/// Most results of one call of [`Collector::ready`].
const READY_MAX: usize = 128;
/// How long a process may take from its start to its first trace.
const START_GRACE: SignedDuration = SignedDuration::from_secs(10);
/// How long a folder may be without a request, because it is being written.
const HALF_MADE: Duration = Duration::from_secs(60);

/// A result for the inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ready {
    /// The request of the job.
    pub request: Request,
    /// Its result.
    pub result: WorkResult,
    /// The caller had taken the result before it ended, so it may have shown it.
    pub may_be_known: bool,
    /// The path of the file with the output below the home folder, if there is one.
    pub output: Option<String>,
}

/// Reads the spool and watches over the running jobs.
pub struct Collector {
    storage: Arc<dyn Storage>,
    clock: Arc<dyn Clock>,
    processes: Arc<dyn Processes>,
    /// Jobs whose state is final.
    settled: BTreeSet<String>,
    half_made: BTreeMap<String, Instant>,
}

impl Collector {
    /// A collector for one home folder.
    pub fn new(storage: Arc<dyn Storage>, clock: Arc<dyn Clock>, processes: Arc<dyn Processes>) -> Self {
        Self { storage, clock, processes, settled: BTreeSet::new(), half_made: BTreeMap::new() }
    }

    fn folder(&self, id: &str) -> Folder {
        Folder::new(self.storage.clone(), id)
    }

    /// The results for the inbox, and whether the spool has others that a caller may still take. The results of callers that
    /// have ended become the inbox's.
    ///
    /// # Errors
    /// Fails if the spool can't be read. A job that can't be read is skipped and logged.
    pub fn ready(&self) -> io::Result<(Vec<Ready>, bool)> {
        let mut ready = Vec::new();
        let mut waits = false;
        for id in self.storage.list(SPOOL)?.iter().filter(|id| is_id(id)) {
            if ready.len() == READY_MAX {
                return Ok((ready, true));
            }
            match self.look_at(&self.folder(id)) {
                Ok(Spooled::Ready(one)) => ready.push(*one),
                Ok(Spooled::Waits) => waits = true,
                Ok(Spooled::Settled) => {}
                Err(error) => {
                    waits = true;
                    tracing::warn!(%error, id, "the result of a job can't be read");
                }
            }
        }
        Ok((ready, waits))
    }

    fn look_at(&self, folder: &Folder) -> io::Result<Spooled> {
        let (Some(request), Some(result)) = (folder.request()?, folder.result()?) else {
            // A result is written before its id is spooled, so this job was removed.
            folder.unspool()?;
            return Ok(Spooled::Settled);
        };
        let claim = folder.claim()?;
        let may_be_known = match claim {
            Some(Claim::Released) => false,
            Some(Claim::ReleasedLate) => true,
            Some(from @ (Claim::Open | Claim::Claimed)) => {
                if caller_lives(&*self.storage, &request.session) {
                    return Ok(Spooled::Waits);
                }
                let step = if from == Claim::Open { Move::LetGo } else { Move::TakeBack };
                if !folder.take(from, step)? {
                    return Ok(Spooled::Waits);
                }
                from == Claim::Claimed
            }
            Some(Claim::Seen | Claim::Told) | None => {
                folder.unspool()?;
                return Ok(Spooled::Settled);
            }
        };
        let output = (result.kept_bytes > 0).then(|| folder.path(OUTPUT));
        Ok(Spooled::Ready(Box::new(Ready { request, result, may_be_known, output })))
    }

    /// Notes that the inbox has this result durably.
    ///
    /// # Errors
    /// Fails with the error of the disk. Then the result comes again, and the journal recognises it by its key.
    pub fn told(&self, id: &str) -> io::Result<()> {
        let folder = self.folder(id);
        for from in [Claim::Released, Claim::ReleasedLate] {
            folder.take(from, Move::Tell)?;
        }
        folder.unspool()
    }

    /// Spools jobs that have ended without being spooled. Returns whether some still run.
    ///
    /// # Errors
    /// Fails if the folder of all jobs can't be read.
    pub fn sweep(&mut self) -> io::Result<bool> {
        let mut runs = false;
        let all = ids(&*self.storage)?;
        self.settled.retain(|id| all.binary_search(id).is_ok());
        self.half_made.retain(|id, _| all.binary_search(id).is_ok());
        for id in all {
            if self.settled.contains(&id) {
                continue;
            }
            match self.sweep_one(&id) {
                Ok(Swept::Settled) => {
                    self.settled.insert(id);
                }
                Ok(Swept::Runs) => runs = true,
                Ok(Swept::Ended) => {}
                Err(error) => tracing::warn!(%error, id, "can't tell whether a job still runs"),
            }
        }
        Ok(runs)
    }

    fn sweep_one(&mut self, id: &str) -> io::Result<Swept> {
        let folder = self.folder(id);
        if !folder.has_request()? {
            let since = *self.half_made.entry(id.to_owned()).or_insert_with(Instant::now);
            if since.elapsed() >= HALF_MADE {
                folder.remove()?;
                return Ok(Swept::Settled);
            }
            return Ok(Swept::Runs);
        }
        let claim = folder.claim()?;
        if claim.is_none_or(Claim::is_final) {
            return Ok(Swept::Settled);
        }
        if !folder.has_result()? {
            // While this is held, no process of the job can begin or end.
            let Some(_lock) = folder.lock()? else { return Ok(Swept::Runs) };
            if !folder.has_result()? {
                // A job that is being removed loses its request first. What is left is no job, so nothing is written for it.
                let Some(request) = folder.request()? else { return Ok(Swept::Runs) };
                let trace = folder.trace()?;
                let asked_at: Option<Timestamp> = request.asked_at.parse().ok();
                let age = asked_at.map(|at| self.clock.now().duration_since(at).abs());
                if trace.is_none() && age.is_some_and(|age| age < START_GRACE) {
                    return Ok(Swept::Runs);
                }
                self.end_as_lost(&folder, &request, trace)?;
            }
        }
        if !folder.is_spooled()? {
            folder.spool()?;
        }
        Ok(Swept::Ended)
    }

    /// Writes the result of a job whose process is gone.
    fn end_as_lost(&self, folder: &Folder, request: &Request, trace: Option<Trace>) -> io::Result<()> {
        let reason = match &trace {
            None => "its process did not start",
            Some(trace) if trace.boot.is_some() && trace.boot != self.processes.boot_id() => {
                "the machine was started again while it ran"
            }
            Some(_) => "its process was ended before it could say how it went",
        };
        // After a restart of the machine these numbers belong to other processes.
        let trace = trace.filter(|trace| trace.boot == self.processes.boot_id()).unwrap_or_default();
        let leaders = trace.groups.iter().chain(&trace.process);
        for group in leaders.filter_map(|group| group.parse().ok()) {
            if let Err(error) = self.processes.end_group(&group, Ending::Kill) {
                tracing::warn!(%error, id = folder.id, %group, "programs of a job that is lost could not be ended");
            }
        }
        let kept = self.storage.len(&folder.path(OUTPUT))?.unwrap_or_default();
        let head = if kept > 0 {
            self.storage.read(&folder.path(OUTPUT), 0, request.ask.limits.text_bytes)?
        } else {
            Vec::new()
        };
        folder.write_result(&WorkResult {
            v: 1,
            id: folder.id.clone(),
            ended: Ended::Lost,
            reason: Some(reason.to_owned()),
            text: String::from_utf8_lossy(&head).into_owned(),
            total_bytes: kept,
            kept_bytes: kept,
            facts: serde_json::Map::new(),
            ended_at: self.clock.now().to_string(),
        })
    }

    /// Removes the folders of finished jobs that ended before `before`, and then the oldest until at most `jobs` and `bytes`
    /// of them are left. Returns how many jobs were removed, and their bytes.
    ///
    /// # Errors
    /// Fails with the error of the disk.
    pub fn prune(
        &self,
        before: Option<Timestamp>,
        jobs: usize,
        bytes: Option<u64>,
    ) -> io::Result<(u64, u64)> {
        let mut finished = Vec::new();
        for id in ids(&*self.storage)? {
            let folder = self.folder(&id);
            if folder.claim()?.is_some_and(Claim::is_final)
                && let Some(result) = folder.result()?
            {
                let bytes = if bytes.is_some() { folder.bytes()? } else { 0 };
                finished.push((result.ended_at.parse::<Timestamp>().ok(), bytes, folder));
            }
        }
        finished.sort_by_key(|(ended_at, ..)| *ended_at);
        let mut kept: u64 = finished.iter().map(|(_, bytes, _)| bytes).sum();
        let mut left = finished.len();
        let (mut gone, mut freed) = (0, 0);
        for (ended_at, size, folder) in finished {
            let is_old = before.is_some_and(|before| ended_at.is_none_or(|at| at < before));
            if !is_old && left <= jobs && bytes.is_none_or(|most| kept <= most) {
                break;
            }
            let size = if bytes.is_some() { size } else { folder.bytes()? };
            folder.unspool()?;
            folder.remove()?;
            kept = kept.saturating_sub(size);
            left -= 1;
            gone += 1;
            freed += size;
        }
        Ok((gone, freed))
    }

    /// Removes the oldest finished jobs until at most `jobs` of them are left.
    pub(crate) fn make_room(&self, jobs: usize) -> io::Result<()> {
        self.prune(None, jobs, None).map(|_| ())
    }
}

enum Spooled {
    Ready(Box<Ready>),
    Waits,
    Settled,
}

enum Swept {
    Settled,
    Runs,
    Ended,
}
