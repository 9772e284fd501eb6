//! The files of a job.
//!
//! `request.json` is written last when a job begins and removed first, so that a folder without one is no job. It must
//! never draw a conclusion from a missing claim file, as a move renames that file.

use std::io;
use std::sync::Arc;

use entraclaw_seams::storage::{Lock, Storage, read_whole};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::claim::{Claim, Move};
use crate::request::{Request, Trace, WorkResult};

/// The folder of all jobs, below the home folder.
pub const WORK: &str = "work";
/// The folder of the ids of ended jobs whose result is not delivered yet.
pub const SPOOL: &str = "work/spool";
/// The locks of sessions that have begun work.
pub(crate) const CALLERS: &str = "work/callers";

/// Largest document of a job.
const FILE_BYTES_MAX: u64 = 2 * 1024 * 1024;
/// How often to look for a claim file that is being renamed.
const CLAIM_LOOKS: usize = 16;

const REQUEST: &str = "request.json";
const RESULT: &str = "result.json";
const TRACE: &str = "process.json";
pub(crate) const CANCEL: &str = "cancel";
pub(crate) const EVENTS: &str = "events";
pub(crate) const OUTPUT: &str = "output";
const LOCK: &str = "lock";

/// The folder of one job.
#[derive(Clone)]
pub(crate) struct Folder {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) id: String,
}

/// Whether a name can be that of a job: letters, digits and `-`.
pub(crate) fn is_id(name: &str) -> bool {
    (8..=64).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

/// The jobs that have a folder.
pub(crate) fn ids(storage: &dyn Storage) -> io::Result<Vec<String>> {
    let names = storage.list(WORK)?.into_iter();
    Ok(names.filter(|name| is_id(name) && name != "callers").collect())
}

impl Folder {
    pub(crate) fn new(storage: Arc<dyn Storage>, id: &str) -> Self {
        Self { storage, id: id.to_owned() }
    }

    pub(crate) fn path(&self, name: &str) -> String {
        format!("{WORK}/{}/{name}", self.id)
    }

    fn spool_path(&self) -> String {
        format!("{SPOOL}/{}", self.id)
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> io::Result<Option<T>> {
        let Some(bytes) = read_whole(&*self.storage, &self.path(name), FILE_BYTES_MAX)? else {
            return Ok(None);
        };
        let wrong = |error: serde_json::Error| {
            io::Error::new(io::ErrorKind::InvalidData, format!("{}: {error}", self.path(name)))
        };
        serde_json::from_slice(&bytes).map(Some).map_err(wrong)
    }

    fn write<T: Serialize>(&self, name: &str, what: &T) -> io::Result<()> {
        let bytes = serde_json::to_vec(what).map_err(io::Error::other)?;
        self.storage.replace(&self.path(name), &bytes)
    }

    /// Writes the files of a new job, which no process runs yet.
    pub(crate) fn create(&self, request: &Request) -> io::Result<()> {
        self.storage.create_dir(&format!("{WORK}/{}", self.id))?;
        self.storage.create_dir(SPOOL)?;
        self.storage.replace(&self.path(Claim::Open.file()), b"")?;
        self.write_request(request)
    }

    /// Writes the request, by which the folder becomes a job's.
    pub(crate) fn write_request(&self, request: &Request) -> io::Result<()> {
        self.write(REQUEST, request)
    }

    pub(crate) fn request(&self) -> io::Result<Option<Request>> {
        self.read(REQUEST)
    }

    /// Whether the folder is a job's.
    pub(crate) fn has_request(&self) -> io::Result<bool> {
        Ok(self.storage.len(&self.path(REQUEST))?.is_some())
    }

    pub(crate) fn result(&self) -> io::Result<Option<WorkResult>> {
        self.read(RESULT)
    }

    pub(crate) fn has_result(&self) -> io::Result<bool> {
        Ok(self.storage.len(&self.path(RESULT))?.is_some())
    }

    pub(crate) fn write_result(&self, result: &WorkResult) -> io::Result<()> {
        self.write(RESULT, result)
    }

    pub(crate) fn trace(&self) -> io::Result<Option<Trace>> {
        self.read(TRACE)
    }

    pub(crate) fn write_trace(&self, trace: &Trace) -> io::Result<()> {
        self.write(TRACE, trace)
    }

    /// The lock of the job's process while it runs, and of a session that writes a result for a lost process.
    pub(crate) fn lock(&self) -> io::Result<Option<Box<dyn Lock>>> {
        self.storage.try_lock(&self.path(LOCK))
    }

    /// Whether the lock is held. This creates no file.
    pub(crate) fn is_locked(&self) -> io::Result<bool> {
        Ok(self.storage.len(&self.path(LOCK))?.is_some() && self.lock()?.is_none())
    }

    pub(crate) fn ask_to_cancel(&self) -> io::Result<()> {
        self.storage.replace(&self.path(CANCEL), b"")
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        matches!(self.storage.len(&self.path(CANCEL)), Ok(Some(_)))
    }

    /// Puts the ended job into the spool, so that its result is delivered.
    pub(crate) fn spool(&self) -> io::Result<()> {
        self.storage.create_dir(SPOOL)?;
        self.storage.replace(&self.spool_path(), b"")
    }

    pub(crate) fn is_spooled(&self) -> io::Result<bool> {
        Ok(self.storage.len(&self.spool_path())?.is_some())
    }

    pub(crate) fn unspool(&self) -> io::Result<()> {
        self.storage.remove(&self.spool_path())
    }

    /// The state of the result; `None` if the folder is not a job's.
    pub(crate) fn claim(&self) -> io::Result<Option<Claim>> {
        for _ in 0..CLAIM_LOOKS {
            for claim in Claim::ALL {
                if self.storage.len(&self.path(claim.file()))?.is_some() {
                    return Ok(Some(claim));
                }
            }
        }
        Ok(None)
    }

    /// Makes a move; `false` if the state is another one.
    pub(crate) fn take(&self, from: Claim, step: Move) -> io::Result<bool> {
        let Some(to) = from.after(step) else { return Ok(false) };
        match self.storage.rename(&self.path(from.file()), &self.path(to.file())) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            // The rename may have succeeded even if the sync of its folder failed.
            Err(error) => {
                let is_done = self.storage.len(&self.path(from.file()))?.is_none()
                    && self.storage.len(&self.path(to.file()))?.is_some();
                if is_done { Ok(true) } else { Err(error) }
            }
        }
    }

    /// The size of its files in bytes.
    pub(crate) fn bytes(&self) -> io::Result<u64> {
        let names = self.storage.list(&format!("{WORK}/{}", self.id))?;
        let lengths =
            names.iter().map(|name| self.storage.len(&self.path(name)).map(Option::unwrap_or_default));
        lengths.sum()
    }

    /// Removes all files. The request goes first, so that after a crash the rest is no job.
    pub(crate) fn remove(&self) -> io::Result<()> {
        self.storage.remove(&self.path(REQUEST))?;
        let dir = format!("{WORK}/{}", self.id);
        for name in self.storage.list(&dir)? {
            self.storage.remove(&self.path(&name))?;
        }
        self.storage.remove_dir(&dir)
    }
}

/// The path of the lock of a session that has begun work.
pub(crate) fn caller_path(session: &str) -> String {
    format!("{CALLERS}/{session}")
}

/// Whether a session that has begun work still runs. It counts as running if its lock can't be read.
pub(crate) fn caller_lives(storage: &dyn Storage, session: &str) -> bool {
    let path = caller_path(session);
    if !is_id(session) || matches!(storage.len(&path), Ok(None)) {
        return false;
    }
    match storage.try_lock(&path) {
        Ok(Some(_lock)) => {
            // No later session takes a lock with this name.
            let _ = storage.remove(&path);
            false
        }
        Ok(None) => true,
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use entraclaw_seams::storage::MemoryStorage;

    use super::*;

    #[test]
    fn a_job_is_in_the_spool_from_its_end_until_it_is_delivered() {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let (job, other) = (Folder::new(storage.clone(), "work-0001"), Folder::new(storage, "work-0002"));
        assert!(!job.is_spooled().unwrap());
        for _ in 0..2 {
            job.spool().unwrap();
            assert!(job.is_spooled().unwrap() && !other.is_spooled().unwrap());
        }
        for _ in 0..2 {
            job.unspool().unwrap();
            assert!(!job.is_spooled().unwrap());
        }
    }

    #[test]
    fn a_job_is_locked_and_cancelled_only_by_its_own_files() {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let (job, other) =
            (Folder::new(storage.clone(), "work-0001"), Folder::new(storage.clone(), "work-0002"));
        assert!(!job.is_locked().unwrap() && !job.is_cancelled() && !job.has_result().unwrap());
        storage.create_dir("work/work-0001").unwrap();
        let lock = job.lock().unwrap().unwrap();
        job.ask_to_cancel().unwrap();
        assert!(job.is_locked().unwrap() && job.is_cancelled());
        assert!(!other.is_locked().unwrap() && !other.is_cancelled());
        drop(lock);
        assert!(!job.is_locked().unwrap(), "the file of the lock stays");
    }

    #[test]
    fn an_id_is_of_eight_to_sixty_four_letters_digits_and_hyphens() {
        for (name, is) in [
            ("work-000", true),
            ("work-00", false),
            (&"a".repeat(64), true),
            (&"a".repeat(65), false),
            ("work_0001", false),
            ("work/0001", false),
        ] {
            assert_eq!(is_id(name), is, "{name}");
        }
    }
}
