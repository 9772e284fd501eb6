//! What there is of jobs, for `entraclaw status` and `doctor`.
//! It must never change anything, nor take a lock for longer than a look.

use std::io;
use std::sync::Arc;

use entraclaw_seams::storage::Storage;
use jiff::Timestamp;

use crate::claim::Claim;
use crate::folder::{Folder, ids};

/// Counts of jobs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Survey {
    /// Jobs whose process runs or is about to.
    pub running: u64,
    /// Jobs that have ended and whose result is on its way.
    pub on_the_way: u64,
    /// When the oldest of these ended.
    pub oldest_ended_at: Option<Timestamp>,
    /// Jobs whose process is gone without a result; the session that leads says so in the inbox.
    pub lost: u64,
    /// Jobs that are finished for good, whose folders are kept for a while.
    pub finished: u64,
    /// Bytes of all.
    pub bytes: u64,
    /// Jobs that can't be read.
    pub unreadable: u64,
}

/// Looks at all jobs of a home folder.
///
/// # Errors
/// What the disk says of the folder of all jobs.
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
    // A job's process holds this from its first step on; one without it was not begun or is gone.
    if folder.trace()?.is_some() && !folder.is_locked()? {
        survey.lost += 1;
    } else {
        survey.running += 1;
    }
    Ok(())
}
