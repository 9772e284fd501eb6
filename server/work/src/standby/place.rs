//! The files of one process that stands by, below `standby/` in the home folder. They are derived: a power cut may take
//! them, and then the process is gone too.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use entraclaw_seams::storage::{Changes, Lock, Storage, read_whole};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::Instant;

use crate::folder::is_id;

const STANDBY: &str = "standby";
/// How long a process may take from its start until it takes its place. One that was killed before never does.
const STARTS_WITHIN: Duration = Duration::from_secs(30);
/// Largest plan.
const PLAN_BYTES_MAX: u64 = 256 * 1024;
/// How long the lock of a place may be held by a session that looks whether its process runs.
const LOCK_WAIT_MS: u64 = 100;

const LOCK: &str = "lock";
const PLAN: &str = "plan";
/// The state of the process is the name of one file: it waits, it is handed a job, it has taken it, it is to leave.
const IDLE: &str = "idle";
const HANDED: &str = "job-";
const BUSY: &str = "busy";
const LEAVE: &str = "leave";

/// What a process gets ready for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// The version of this format: 1.
    pub(crate) v: u32,
    /// The kind of work.
    pub(crate) kind: String,
    /// The kind's own description of what to get ready.
    pub(crate) what: Value,
    /// The session for which it stands by; it holds a lock of this name while it runs.
    pub(crate) session: String,
    /// The most processes that may stand by in this home folder.
    pub(crate) at_most: u32,
}

/// A process that was started to stand by, as the session sees it. Clones are cheap.
#[derive(Clone)]
pub struct Standing {
    storage: Arc<dyn Storage>,
    key: String,
    since: Instant,
}

impl fmt::Debug for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Standing").field(&self.key).finish()
    }
}

impl Standing {
    pub(crate) fn new(storage: Arc<dyn Storage>, key: &str) -> Self {
        Self { storage, key: key.to_owned(), since: Instant::now() }
    }

    /// Whether the process runs, or has not begun yet.
    pub fn is_alive(&self) -> bool {
        let is_there = |state| matches!(self.storage.len(&self.path(state)), Ok(Some(_)));
        if is_there(PLAN) && self.since.elapsed() < STARTS_WITHIN {
            return true;
        }
        is_there(LOCK) && matches!(self.storage.try_lock(&self.path(LOCK)), Ok(None))
    }

    /// Asks the process to end if it waits for a job. Returns whether it did.
    ///
    /// # Errors
    /// Fails with the error of the disk.
    pub fn dismiss(&self) -> io::Result<bool> {
        self.moves(IDLE, LEAVE)
    }

    /// Hands a job over, if the process waits for one.
    pub(crate) fn hand_over(&self, id: &str) -> io::Result<bool> {
        self.moves(IDLE, &format!("{HANDED}{id}"))
    }

    /// Takes a job back that the process has not taken; then it must leave.
    pub(crate) fn take_back(&self, id: &str) -> io::Result<bool> {
        self.moves(&format!("{HANDED}{id}"), LEAVE)
    }

    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// Writes the plan for the process that is about to start.
    pub(crate) fn write_plan(&self, plan: &Plan) -> io::Result<()> {
        self.storage.create_dir(STANDBY)?;
        let bytes = serde_json::to_vec(plan).map_err(io::Error::other)?;
        self.storage.replace_derived(&self.path(PLAN), &bytes)
    }

    pub(crate) fn remove_plan(&self) -> io::Result<()> {
        self.storage.remove(&self.path(PLAN))
    }

    fn path(&self, state: &str) -> String {
        format!("{STANDBY}/{}.{state}", self.key)
    }

    fn moves(&self, from: &str, to: &str) -> io::Result<bool> {
        match self.storage.rename_derived(&self.path(from), &self.path(to)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// What the process is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Told {
    /// Nothing yet.
    Nothing,
    /// To run this job, which it has taken.
    Run(String),
    /// To end.
    Leave,
}

/// The place of the process itself, which it holds by a lock.
pub(super) struct Place {
    standing: Standing,
    locks: Mutex<[Box<dyn Lock>; 2]>,
}

/// Why a process has no place.
pub(super) enum NoPlace {
    /// There is no plan of this key, or another process has it.
    NoPlan,
    /// As many others stand by as may.
    Full(u32),
}

impl Place {
    /// Takes the place of the plan with this key.
    pub(super) fn take(storage: &Arc<dyn Storage>, key: &str) -> io::Result<Result<(Self, Plan), NoPlace>> {
        if !is_id(key) {
            return Ok(Err(NoPlace::NoPlan));
        }
        let standing = Standing::new(storage.clone(), key);
        let Some(plan) = read_whole(&**storage, &standing.path(PLAN), PLAN_BYTES_MAX)? else {
            return Ok(Err(NoPlace::NoPlan));
        };
        let plan: Plan = serde_json::from_slice(&plan).map_err(io::Error::other)?;
        let Some(lock) = storage.lock(&standing.path(LOCK), LOCK_WAIT_MS)? else {
            return Ok(Err(NoPlace::NoPlan));
        };
        standing.remove_plan()?;
        sweep(&**storage)?;
        let at_most = plan.at_most;
        for number in 0..at_most {
            if let Some(slot) = storage.try_lock(&format!("{STANDBY}/slot-{number}"))? {
                return Ok(Ok((Self { standing, locks: Mutex::new([lock, slot]) }, plan)));
            }
        }
        storage.remove(&standing.path(LOCK))?;
        Ok(Err(NoPlace::Full(at_most)))
    }

    /// News of what it is told.
    pub(super) fn changes(&self) -> Option<Changes> {
        self.standing.storage.changes(STANDBY)
    }

    /// Offers to take a job.
    pub(super) fn offer(&self) -> io::Result<()> {
        self.standing.storage.remove(&self.standing.path(BUSY))?;
        self.standing.storage.replace_derived(&self.standing.path(IDLE), b"")
    }

    /// What it is told. A job that it is told to run is taken.
    pub(super) fn told(&self) -> io::Result<Told> {
        let beginning = format!("{}.", self.standing.key);
        for name in self.standing.storage.list(STANDBY)? {
            let Some(state) = name.strip_prefix(&beginning) else { continue };
            if state == LEAVE {
                return Ok(Told::Leave);
            }
            if let Some(id) = state.strip_prefix(HANDED)
                && self.standing.moves(state, BUSY)?
            {
                return Ok(Told::Run(id.to_owned()));
            }
        }
        Ok(Told::Nothing)
    }

    /// Takes the offer back; `false` if it was used or is to leave anyway.
    pub(super) fn withdraw(&self) -> io::Result<bool> {
        self.standing.dismiss()
    }

    /// Removes the files.
    pub(super) fn clear(self) -> io::Result<()> {
        let cleared = remove_all(&*self.standing.storage, &self.standing.key);
        drop(self.locks);
        cleared
    }
}

/// Removes the files of processes that were killed. No later process takes a place with the same key.
fn sweep(storage: &dyn Storage) -> io::Result<()> {
    for name in storage.list(STANDBY)? {
        let Some(key) = name.strip_suffix(&format!(".{LOCK}")) else { continue };
        if let Some(_lock) = storage.try_lock(&format!("{STANDBY}/{name}"))? {
            remove_all(storage, key)?;
        }
    }
    Ok(())
}

/// Removes the files of this key, the lock last.
fn remove_all(storage: &dyn Storage, key: &str) -> io::Result<()> {
    let beginning = format!("{key}.");
    for name in storage.list(STANDBY)? {
        if name.strip_prefix(&beginning).is_some_and(|state| state != LOCK) {
            storage.remove(&format!("{STANDBY}/{name}"))?;
        }
    }
    storage.remove(&format!("{STANDBY}/{key}.{LOCK}"))
}
