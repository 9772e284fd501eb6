//! Results of work that another part of the program has done, on their way to the inbox: a job that has its result from the
//! beginning, and no caller.
//!
//! It must never give one id two results, nor leave a folder that is no job.

use std::io;
use std::sync::Arc;

use entraclaw_seams::storage::Storage;

use crate::claim::Claim;
use crate::collect::JOBS_MAX;
use crate::folder::{Folder, OUTPUT, SPOOL, WORK, ids, is_id};
use crate::request::{Request, TEXT_BYTES_MAX, WorkResult};

/// A result for the inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// What was asked, with the id under which the inbox knows it.
    pub request: Request,
    /// The result. Its text may be long; the inbox shows its beginning and names the file with the rest.
    pub result: WorkResult,
    /// Whether the caller may have seen it.
    pub may_be_known: bool,
}

/// Puts a result on its way to the inbox. Once it is there, doing it again changes nothing.
///
/// # Errors
/// Fails with the error of the disk, or if too many jobs are kept; then nothing is on its way.
pub fn deliver(storage: &Arc<dyn Storage>, delivery: Delivery) -> io::Result<()> {
    let Delivery { request, mut result, may_be_known } = delivery;
    if !is_id(&request.id) || result.id != request.id {
        let says = format!("{:?} can't be the id of a job", request.id);
        return Err(io::Error::new(io::ErrorKind::InvalidInput, says));
    }
    let folder = Folder::new(storage.clone(), &request.id);
    if folder.request()?.is_none() {
        if ids(&**storage)?.len() >= JOBS_MAX {
            return Err(io::Error::other(format!("{JOBS_MAX} jobs are kept already")));
        }
        storage.create_dir(&format!("{WORK}/{}", request.id))?;
        storage.create_dir(SPOOL)?;
        let claim = if may_be_known { Claim::ReleasedLate } else { Claim::Released };
        storage.replace(&folder.path(claim.file()), b"")?;
        if result.text.len() > TEXT_BYTES_MAX {
            storage.replace(&folder.path(OUTPUT), result.text.as_bytes())?;
            result.total_bytes = result.text.len() as u64;
            result.kept_bytes = result.total_bytes;
            let end = (0..=TEXT_BYTES_MAX).rev().find(|at| result.text.is_char_boundary(*at));
            result.text.truncate(end.unwrap_or_default());
        }
        folder.write_result(&result)?;
        folder.write_request(&request)?;
    }
    // A process that died here left it to the sweep, which spools what is not.
    match folder.claim()? {
        Some(Claim::Released | Claim::ReleasedLate) => folder.spool(),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use entraclaw_seams::clock::TokioClock;
    use entraclaw_seams::processes::SimulatedProcesses;
    use entraclaw_seams::storage::MemoryStorage;
    use serde_json::{Map, json};

    use super::*;
    use crate::collect::Collector;
    use crate::request::{Ask, Ended, Limits};

    fn delivery(text: &str, may_be_known: bool) -> Delivery {
        let id = "work-task-0123456789abcdef".to_owned();
        let ask = Ask {
            kind: "delegate".to_owned(),
            what: json!({}),
            title: "make the board".to_owned(),
            consumer: "claude-code".to_owned(),
            host: None,
            limits: Limits::default(),
        };
        let at = "2026-11-26T09:00:00Z".to_owned();
        let request = Request { v: 1, id: id.clone(), ask, session: String::new(), asked_at: at.clone() };
        let result = WorkResult {
            v: 1,
            id,
            ended: Ended::Done,
            reason: None,
            text: text.to_owned(),
            total_bytes: text.len() as u64,
            kept_bytes: 0,
            facts: Map::new(),
            ended_at: at,
        };
        Delivery { request, result, may_be_known }
    }

    fn collector(storage: &Arc<dyn Storage>) -> Collector {
        let clock = TokioClock::starting_at("2026-11-26T09:00:00Z".parse().unwrap());
        Collector::new(storage.clone(), Arc::new(clock), Arc::new(SimulatedProcesses::default()))
    }

    #[tokio::test(start_paused = true)]
    async fn it_comes_once_however_often_it_is_given() {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        for _ in 0..3 {
            deliver(&storage, delivery("Done.", false)).unwrap();
        }
        let ready = collector(&storage).ready().unwrap().0;
        assert_eq!(ready.len(), 1);
        assert_eq!((&*ready[0].result.text, ready[0].may_be_known), ("Done.", false));
        collector(&storage).told(&ready[0].request.id).unwrap();
        deliver(&storage, delivery("Done.", false)).unwrap();
        assert_eq!(collector(&storage).ready().unwrap().0, []);
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_one_is_in_a_file_and_one_that_may_be_known_says_so() {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let text = "ä".repeat(TEXT_BYTES_MAX);
        deliver(&storage, delivery(&text, true)).unwrap();
        let ready = collector(&storage).ready().unwrap().0.remove(0);
        assert!(ready.may_be_known && ready.result.is_cut() && ready.output.is_some());
        assert_eq!(ready.result.kept_bytes, text.len() as u64);
        let mut odd = delivery("x", false);
        odd.request.id = "../../etc".to_owned();
        assert!(deliver(&storage, odd).is_err());
    }
}
