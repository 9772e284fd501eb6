//! The leader's cleanup at its start and every hour: old days of the journal, the audit log, fetched files
//! and logs that were put aside.
//!
//! It must never delete a file whose name does not begin with a day, nor one of today, except fetched files
//! when a new one needs room. The journal decides by its own rules.

use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::journal::{Journal, RetentionPolicy};
use crate::watched::Watched;
use entraclaw_seams::clock::Clock;
use entraclaw_seams::storage::Storage;

/// The folder of files that people sent and the agent fetched. Their names begin with the UTC day on which
/// they were fetched, as in `2026-11-21-report.pdf`.
pub const ATTACHMENTS: &str = "attachments";
/// The most fetched files that are kept, however small they are.
pub const ATTACHMENT_FILES_MAX: usize = 2_000;
/// The folder of the audit log.
const INTERACTIONS: &str = "interactions";
/// The folder of log files. The name of a log that was put aside begins with a day.
const LOGS: &str = "log";

/// The time between two rounds.
const ROUND_EVERY: Duration = Duration::from_secs(3_600);
/// The time before the first round, so that the first poll ends before it.
const FIRST_AFTER: Duration = Duration::from_secs(30);
/// Length of a day in a file name, in bytes.
const DAY_BYTES: usize = 10;

/// How long files are kept, and how much of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retention {
    /// Messages. A message that an active consumer was not shown stays, whatever the limits say.
    pub journal: Limits,
    /// The audit log.
    pub interactions: Limits,
    /// Files that people sent and the agent fetched.
    pub attachments: Limits,
    /// Days that logs put aside are kept; `None` is without end.
    pub log_days: Option<u32>,
    /// After so many days without use, a consumer holds no messages back.
    pub consumer_idle_days: u32,
}

/// Limits of one kind of file; `None` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Days kept before today.
    pub days: Option<u32>,
    /// Megabytes kept, of 1,000,000 bytes.
    pub mb: Option<u32>,
}

impl Limits {
    /// The size limit in bytes.
    pub fn bytes(&self) -> Option<u64> {
        self.mb.map(|mb| u64::from(mb) * 1_000_000)
    }
}

/// Deletes files of one more kind by the journal's limits. Returns how many files it deleted, and their
/// bytes.
pub type Pruning = Box<dyn Fn(&Limits, Timestamp) -> io::Result<(u64, u64)> + Send + Sync>;

/// The result of the last round.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Round {
    /// The time of the round, RFC 3339.
    pub at: String,
    /// Records of the journal that were deleted.
    pub journal_records: u64,
    /// Files that were deleted, of every kind.
    pub files: u64,
    /// The bytes of these files.
    pub bytes: u64,
    /// Consumers that were unused for so long that they hold no messages back.
    pub idle_consumers: Vec<String>,
    /// Active consumers without which more of the journal would have been deleted.
    pub held_back_by: Vec<String>,
    /// Whether the journal was left alone because the calendar jumped lately.
    pub waits_for_calendar: bool,
    /// The work that could not be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The result of the last round, if there was one.
pub type LastRound = Watched<Option<Round>>;

/// Everything a round needs.
pub struct Upkeep {
    /// The journal.
    pub journal: Journal,
    /// The home folder.
    pub storage: Arc<dyn Storage>,
    /// The clock, for the current day.
    pub clock: Arc<dyn Clock>,
    /// The limits.
    pub limits: Retention,
    /// Deletes other files by the limits of messages.
    pub others: Vec<Pruning>,
    /// Where the result of the last round is published.
    pub last: LastRound,
}

impl Upkeep {
    /// Runs the rounds while this process leads. It never returns.
    pub async fn run(self, mut leading: watch::Receiver<bool>) -> Infallible {
        let mut follows = leading.clone();
        loop {
            // The sender is dropped when the session ends.
            if leading.wait_for(|leading| *leading).await.is_err() {
                return pending().await;
            }
            tokio::select! {
                biased;
                Ok(_) = follows.wait_for(|leading| !*leading) => {}
                never = self.rounds() => match never {},
            }
        }
    }

    async fn rounds(&self) -> Infallible {
        sleep(FIRST_AFTER).await;
        loop {
            let round = self.round();
            if let Some(error) = &round.error {
                tracing::warn!(error, "old files could not be deleted");
            }
            self.last.update(|last| *last = Some(round));
            sleep(ROUND_EVERY).await;
        }
    }

    /// Runs one round. One failing kind of file does not stop the others.
    pub fn round(&self) -> Round {
        let now = self.clock.now();
        let today = now.to_zoned(TimeZone::UTC).date();
        let mut round = Round { at: now.to_string(), ..Round::default() };
        let mut errors = Vec::new();
        let policy = RetentionPolicy {
            days_max: self.limits.journal.days,
            bytes_max: self.limits.journal.bytes(),
            consumer_idle_days: self.limits.consumer_idle_days,
        };
        match self.journal.prune(&policy) {
            Ok(pruned) => {
                round.journal_records = pruned.records;
                round.files += pruned.files;
                round.bytes += pruned.bytes;
                round.idle_consumers = pruned.idle_consumers;
                round.held_back_by = pruned.held_back_by;
                round.waits_for_calendar = pruned.waits_for_calendar;
            }
            Err(error) => errors.push(error.to_string()),
        }
        let logs = Limits { days: self.limits.log_days, mb: None };
        let kinds =
            [(INTERACTIONS, self.limits.interactions), (ATTACHMENTS, self.limits.attachments), (LOGS, logs)];
        let by_day = kinds.map(|(folder, limits)| delete_days(&*self.storage, folder, limits, today));
        let others = self.others.iter().map(|prune| prune(&self.limits.journal, now));
        for deleted in by_day.into_iter().chain(others) {
            match deleted {
                Ok((files, bytes)) => {
                    round.files += files;
                    round.bytes += bytes;
                }
                Err(error) => errors.push(error.to_string()),
            }
        }
        round.error = (!errors.is_empty()).then(|| errors.join("; "));
        round
    }
}

/// Deletes fetched files, oldest days first and in the order of their names, until they are within the limit
/// together with the file `kept`, which stays. Returns how many were deleted.
///
/// # Errors
/// A file could not be deleted.
pub fn make_room(storage: &dyn Storage, kept: &str, bytes_max: Option<u64>) -> io::Result<usize> {
    let files = dated(storage, ATTACHMENTS)?;
    let mut left: u64 = files.iter().map(|(_, _, bytes)| bytes).sum();
    let (all, mut gone) = (files.len(), 0);
    for (_, path, bytes) in files.into_iter().filter(|(_, path, _)| path != kept) {
        let too_much = bytes_max.is_some_and(|max| left > max) || all - gone > ATTACHMENT_FILES_MAX;
        if !too_much {
            break;
        }
        storage.remove(&path)?;
        left -= bytes;
        gone += 1;
    }
    Ok(gone)
}

/// Files whose names begin with a day, in order, with their lengths.
fn dated(storage: &dyn Storage, folder: &str) -> io::Result<Vec<(Date, String, u64)>> {
    let mut files = Vec::new();
    for name in storage.list(folder)? {
        let Some(day) = name.get(..DAY_BYTES).and_then(|day| day.parse::<Date>().ok()) else { continue };
        let path = format!("{folder}/{name}");
        // Folders and links are not this program's files.
        if let Ok(Some(bytes)) = storage.len(&path) {
            files.push((day, path, bytes));
        }
    }
    Ok(files)
}

/// Deletes a folder's files by the day that their names begin with, oldest first. Returns how many, and their
/// bytes.
fn delete_days(storage: &dyn Storage, folder: &str, limits: Limits, today: Date) -> io::Result<(u64, u64)> {
    let oldest = limits.days.and_then(|days| today.checked_sub(i64::from(days).days()).ok());
    let files = dated(storage, folder)?;
    let mut left: u64 = files.iter().map(|(_, _, bytes)| bytes).sum();
    let mut deleted = (0, 0);
    for (day, path, bytes) in files {
        let too_old = oldest.is_some_and(|oldest| day < oldest);
        let too_much = limits.bytes().is_some_and(|max| left > max);
        if day < today && (too_old || too_much) {
            storage.remove(&path)?;
            left -= bytes;
            deleted = (deleted.0 + 1, deleted.1 + bytes);
        }
    }
    Ok(deleted)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use entraclaw_seams::storage::MemoryStorage;

    const NAMES: [&str; 6] = [
        "2026-11-01.jsonl",
        "2026-11-20-report.pdf",
        "2026-11-28.1.log",
        "2026-12-01.jsonl",
        "entraclaw.log",
        "2026-99-99.log",
    ];

    #[rstest]
    #[case::by_bytes(5, 300_000, 1, 1_000_000)]
    #[case::in_one_file(1, 3_000_000, 3, 1)]
    #[case::by_count(ATTACHMENT_FILES_MAX, 1, 1, 1)]
    fn room_is_made_also_of_today(
        #[case] older: usize,
        #[case] bytes: usize,
        #[case] mb: u32,
        #[case] new: usize,
    ) {
        let storage = MemoryStorage::new();
        for n in 0..older {
            storage.set_bytes(&format!("{ATTACHMENTS}/2026-11-21-{n:05}-1-a.pdf"), &vec![0; bytes]);
        }
        // Names do not sort in the order of fetching.
        let kept = format!("{ATTACHMENTS}/2026-11-21-00000-2-a.pdf");
        storage.set_bytes(&kept, &vec![0; new]);
        let gone = make_room(&storage, &kept, Some(u64::from(mb) * 1_000_000)).unwrap();
        let left = storage.list(ATTACHMENTS).unwrap();
        let total: u64 =
            left.iter().map(|n| storage.len(&format!("{ATTACHMENTS}/{n}")).unwrap().unwrap()).sum();
        assert!(gone > 0 && left.len() <= ATTACHMENT_FILES_MAX && total <= u64::from(mb) * 1_000_000);
        assert!(storage.bytes(&kept).is_some());
        assert_eq!(make_room(&storage, &kept, Some(u64::from(mb) * 1_000_000)).unwrap(), 0);
        assert_eq!(left.len() + gone, older + 1);
    }

    #[test]
    fn files_that_just_fit_stay() {
        let storage = MemoryStorage::new();
        for n in 0..2 {
            storage.set_bytes(&format!("{ATTACHMENTS}/2026-11-21-{n:05}-1-a.pdf"), &[0; 50]);
        }
        assert_eq!(make_room(&storage, "", Some(100)).unwrap(), 0);
        assert_eq!(make_room(&storage, "", Some(99)).unwrap(), 1);
    }

    #[rstest]
    #[case::none(None, None, &NAMES)]
    #[case::age(Some(3), None, &["2026-11-28.1.log", "2026-12-01.jsonl", "2026-99-99.log", "entraclaw.log"])]
    #[case::size(None, Some(1), &["2026-12-01.jsonl", "2026-99-99.log", "entraclaw.log"])]
    #[case::size_that_fits(None, Some(3), &NAMES)]
    #[case::size_of_a_part(None, Some(2), &["2026-11-28.1.log", "2026-12-01.jsonl", "2026-99-99.log", "entraclaw.log"])]
    fn only_days_before_today_go(#[case] days: Option<u32>, #[case] mb: Option<u32>, #[case] left: &[&str]) {
        let storage = MemoryStorage::new();
        for name in NAMES {
            storage.set_bytes(&format!("log/{name}"), &vec![0; 700_000]);
        }
        let today = "2026-12-01".parse().unwrap();
        delete_days(&storage, "log", Limits { days, mb }, today).unwrap();
        let mut left: Vec<&str> = left.to_vec();
        left.sort_unstable();
        assert_eq!(storage.list("log").unwrap(), left);
        assert_eq!(delete_days(&storage, "nowhere", Limits { days, mb }, today).unwrap(), (0, 0));
    }
}
