//! Counts the jobs for `entraclaw status` and `doctor`.
//! It must never change anything, nor hold a lock for longer than a look.

use std::io;
use std::sync::Arc;

use entraclaw_seams::storage::Storage;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::claim::Claim;
use crate::folder::{Folder, ids};

/// The jobs of work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkSummary {
    /// Jobs whose process runs or is about to start.
    pub running: u64,
    /// Jobs that have ended and whose result is not delivered yet.
    pub on_the_way: u64,
    /// When the oldest of these ended, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub oldest_ended_at: Option<Timestamp>,
    /// Jobs whose process is gone without a result.
    pub lost: u64,
    /// Finished jobs whose folders are kept for a while.
    pub finished: u64,
    /// Bytes of all jobs.
    pub bytes: u64,
    /// Jobs that can't be read, or why none can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Counts all jobs of a home folder.
pub fn survey(storage: &Arc<dyn Storage>) -> WorkSummary {
    let ids = match ids(&**storage) {
        Ok(ids) => ids,
        Err(error) => return WorkSummary { error: Some(error.to_string()), ..WorkSummary::default() },
    };
    let mut survey = WorkSummary::default();
    let mut is_unreadable = |id: &&String| add(&mut survey, &Folder::new(storage.clone(), id)).is_err();
    survey.error = match ids.iter().filter(|id| is_unreadable(id)).count() {
        0 => None,
        1 => Some("1 job can't be read".to_owned()),
        count => Some(format!("{count} jobs can't be read")),
    };
    survey
}

fn add(survey: &mut WorkSummary, folder: &Folder) -> io::Result<()> {
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
