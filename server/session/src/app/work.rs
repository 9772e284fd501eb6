//! Work that outlives its caller in a session: the source that brings results, and how long jobs are kept.
//! A session without another source must never lead for longer than results wait.

use jiff::{Timestamp, ToSpan as _};
use tokio::time::{Duration, Instant};

use super::App;
use entraclaw_inbox::upkeep::{Limits, Pruning};
use entraclaw_seams::storage::Storage;
use entraclaw_work::{Collector, SPOOL, WORK, WorkSource};

/// Most finished jobs whose folders are kept, of any age.
const JOBS_KEPT_MAX: usize = 500;
/// How often a session without a source looks for jobs that ended without being spooled, while no session leads.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// The shortest time that such a session leads.
const LEADS_FOR: Duration = Duration::from_secs(2);

/// The source, if the home folder can be used.
pub(super) fn source(app: &App) -> Option<WorkSource> {
    app.trouble.is_none().then(|| {
        let status = app.work_status.clone();
        let (storage, clock, processes) = (app.storage.clone(), app.clock.clone(), app.processes.clone());
        WorkSource::new(storage, clock, processes, app.home.clone(), status)
    })
}

/// Makes the function that removes folders of finished jobs, by the limits of messages.
pub(super) fn pruning(app: &App) -> Pruning {
    let collector = Collector::new(app.storage.clone(), app.clock.clone(), app.processes.clone());
    Box::new(move |limits: &Limits, now: Timestamp| {
        let before = limits.days.and_then(|days| now.checked_sub((i64::from(days) * 24).hours()).ok());
        collector.prune(before, JOBS_KEPT_MAX, limits.bytes())
    })
}

/// Decides when a session without a source of its own leads: while results wait that no other session brings.
pub(super) struct ForWork {
    look_at: Instant,
    leads_until: Option<Instant>,
}

impl ForWork {
    pub(super) fn new() -> Self {
        Self { look_at: Instant::now(), leads_until: None }
    }

    /// Whether to try to lead now.
    pub(super) fn wants(&mut self, storage: &dyn Storage) -> bool {
        let is_due = self.look_at <= Instant::now();
        let waits = storage.list(SPOOL).is_ok_and(|names| !names.is_empty())
            || is_due && storage.list(WORK).is_ok_and(|names| !names.is_empty());
        if is_due {
            self.look_at = Instant::now() + LOOK_EVERY;
        }
        waits
    }

    pub(super) fn began(&mut self) {
        self.leads_until = Some(Instant::now() + LEADS_FOR);
    }

    /// Whether such a session must give up the lead.
    pub(super) fn is_over(&self, storage: &dyn Storage) -> bool {
        self.leads_until.is_some_and(|until| until <= Instant::now())
            && storage.list(SPOOL).is_ok_and(|names| names.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use entraclaw_seams::storage::MemoryStorage;
    use rstest::rstest;
    use tokio::time::sleep;

    use super::*;

    /// A home with these files.
    fn home(files: &[&str]) -> MemoryStorage {
        let storage = MemoryStorage::new();
        for file in files {
            storage.set_bytes(file, b"");
        }
        storage
    }

    const JOB: &str = "work/work-0001/request.json";
    const RESULT: &str = "work/spool/work-0001";

    #[rstest]
    #[case::nothing(&[], false, false)]
    #[case::a_job_that_may_have_ended(&[JOB], true, false)]
    #[case::a_result(&[JOB, RESULT], true, true)]
    #[tokio::test(start_paused = true)]
    async fn a_session_leads_at_once_for_a_result_and_now_and_then_for_a_job(
        #[case] files: &[&str],
        #[case] at_a_look: bool,
        #[case] in_between: bool,
    ) {
        let (storage, mut work) = (home(files), ForWork::new());
        let moment = Duration::from_millis(10);
        for _ in 0..3 {
            assert_eq!(work.wants(&storage), at_a_look);
            assert_eq!(work.wants(&storage), in_between);
            sleep(LOOK_EVERY.saturating_sub(moment)).await;
            assert_eq!(work.wants(&storage), in_between);
            sleep(moment).await;
        }
    }

    #[rstest]
    #[case::nothing(&[], true)]
    #[case::a_job(&[JOB], true)]
    #[case::a_result(&[JOB, RESULT], false)]
    #[tokio::test(start_paused = true)]
    async fn it_gives_up_the_lead_after_a_while_when_no_result_waits(
        #[case] files: &[&str],
        #[case] is_over: bool,
    ) {
        let (storage, mut work) = (home(files), ForWork::new());
        sleep(LEADS_FOR).await;
        assert!(!work.is_over(&storage), "it has not begun");
        work.began();
        let moment = Duration::from_millis(10);
        sleep(LEADS_FOR.saturating_sub(moment)).await;
        assert!(!work.is_over(&storage));
        sleep(moment).await;
        assert_eq!(work.is_over(&storage), is_over);
    }
}
