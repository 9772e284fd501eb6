//! Counts the jobs for `entraclaw status` and `doctor`.
//! It must never change anything, nor hold a lock for longer than a look.

use std::io;
use std::sync::Arc;

use entraclaw_seams::storage::Storage;
use jiff::Timestamp;

use crate::claim::Claim;
use crate::folder::{Folder, ids};

/// The numbers of jobs in each state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Survey {
    /// Jobs whose process runs or is about to start.
    pub running: u64,
    /// Jobs that have ended and whose result is not delivered yet.
    pub on_the_way: u64,
    /// When the oldest of these ended.
    pub oldest_ended_at: Option<Timestamp>,
    /// Jobs whose process is gone without a result; the session that leads reports them in the inbox.
    pub lost: u64,
    /// Finished jobs, whose folders are kept for a while.
    pub finished: u64,
    /// Bytes of all jobs.
    pub bytes: u64,
    /// Jobs that can't be read.
    pub unreadable: u64,
}

/// Counts all jobs of a home folder.
///
/// # Errors
/// Fails if the folder of all jobs can't be read.
pub fn survey(storage: &Arc<dyn Storage>) -> io::Result<Survey> {
    let mut survey = Survey::default();
    for id in ids(&**storage)? {
        if add(&mut survey, &Folder::new(storage.clone(), &id)).is_err() {
            survey.unreadable += 1;
        }
    }
    Ok(survey)
}

fn add(survey: &mut Survey, folder: &Folder) -> io::Result<()> {
    survey.bytes += folder.bytes()?;
    if folder.claim()?.is_none_or(Claim::is_final) {
        survey.finished += 1;
        return Ok(());
    }
    if let Some(result) = folder.result()? {
        survey.on_the_way += 1;
        let at = result.ended_at.parse::<Timestamp>().ok();
        survey.oldest_ended_at = survey.oldest_ended_at.into_iter().chain(at).min();
        return Ok(());
    }
    // A job's process holds the lock from its first step on; without it the job has not begun or its process is gone.
    if folder.trace()?.is_some() && !folder.is_locked()? {
        survey.lost += 1;
    } else {
        survey.running += 1;
    }
    Ok(())
}
