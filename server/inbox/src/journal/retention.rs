//! Which files of the journal may be deleted: a plan that is computed from the files and consumers alone.
//!
//! Only whole files are deleted, the oldest first. It must never delete a file with a record that an active
//! consumer has not acknowledged, nor the newest two days: their keys show that a message that is read again
//! is not new.

use std::io;

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use serde::Serialize;

/// Days that are kept whatever the limits are: today and yesterday.
pub(super) const KEPT_DAYS_MIN: i32 = 2;
/// How long nothing is deleted after the calendar jumped; a wrong clock is mostly corrected by then.
const STEADY_FOR: SignedDuration = SignedDuration::from_hours(24);
/// How far the calendar may go back without counting as a jump.
const STEP_BACK_MAX: SignedDuration = SignedDuration::from_mins(5);

/// Limits of the journal; `None` is no limit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RetentionPolicy {
    /// Files of older days are deleted.
    pub days_max: Option<u32>,
    /// While the files together are larger, the oldest one is deleted.
    pub bytes_max: Option<u64>,
    /// A consumer that was not active for this long holds nothing back.
    pub consumer_idle_days: u32,
}

/// What a round of retention did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Pruned {
    /// Journal files that were deleted.
    pub files: u64,
    /// Records in them.
    pub records: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Consumers that were not active for so long that they hold nothing back.
    pub idle_consumers: Vec<String>,
    /// Active consumers whose unacknowledged messages kept files from being deleted.
    pub held_back_by: Vec<String>,
    /// Whether nothing was deleted because the calendar jumped recently.
    pub waits_for_calendar: bool,
}

/// A file that could be deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) day: Date,
    pub(super) bytes: u64,
}

/// The number of oldest files to delete, and the consumers that hold back the next one. The newest file is no
/// candidate, but counts in `bytes_total`. `unread_by` returns the active consumers that have not
/// acknowledged all of a file.
pub(super) fn plan(
    policy: &RetentionPolicy,
    today: Date,
    candidates: &[Candidate],
    bytes_total: u64,
    mut unread_by: impl FnMut(usize) -> io::Result<Vec<String>>,
) -> io::Result<(usize, Vec<String>)> {
    let oldest_within = |days: u32| today.checked_sub(i64::from(days).days()).unwrap_or(Date::MIN);
    let kept_anyway = today.checked_sub((KEPT_DAYS_MIN - 1).days()).unwrap_or(Date::MIN);
    let mut left = bytes_total;
    for (count, file) in candidates.iter().enumerate() {
        let too_old = policy.days_max.is_some_and(|days| file.day < oldest_within(days));
        let too_much = policy.bytes_max.is_some_and(|max| left > max);
        if file.day >= kept_anyway || !(too_old || too_much) {
            return Ok((count, Vec::new()));
        }
        let unread_by = unread_by(count)?;
        if !unread_by.is_empty() {
            return Ok((count, unread_by));
        }
        left = left.saturating_sub(file.bytes);
    }
    Ok((candidates.len(), Vec::new()))
}

const STEP_MAX_LEAST: SignedDuration = SignedDuration::from_hours(96);

/// Since when the calendar is steady, as of this look. A step back, or a step that could make a consumer look
/// idle, restarts the period.
pub(super) fn steady_since(
    checked_at: Option<Timestamp>,
    since: Option<Timestamp>,
    now: Timestamp,
    idle_days: u32,
) -> Timestamp {
    // A machine that is off over a long weekend is no jump of the calendar.
    let step_max = SignedDuration::from_hours(i64::from(idle_days).saturating_mul(12)).max(STEP_MAX_LEAST);
    match (checked_at, since) {
        (Some(checked_at), Some(since)) => {
            let step = now.duration_since(checked_at);
            if step > step_max || step < -STEP_BACK_MAX { now } else { since.min(now) }
        }
        _ => now,
    }
}

/// Whether files may be deleted by this calendar.
pub(super) fn is_steady(since: Timestamp, now: Timestamp) -> bool {
    now.duration_since(since) >= STEADY_FOR
}

/// Whether a consumer that was last active at this time still counts.
pub(super) fn is_active(seen_at: Timestamp, now: Timestamp, idle_days: u32) -> bool {
    // A consumer that a wrong clock noted in the future must not count for ever.
    now.duration_since(seen_at).abs() <= SignedDuration::from_hours(i64::from(idle_days).saturating_mul(24))
}

/// Whether a consumer that was last active at this time holds no old messages back.
pub fn is_idle(seen_at: Timestamp, now: Timestamp, idle_days: u32) -> bool {
    !is_active(seen_at, now, idle_days)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const A: &[&str] = &["a"];
    const NOBODY: &[&str] = &[];

    #[rstest]
    #[case::no_limit(None, None, &[("2026-01-01", 10, NOBODY)], 0, NOBODY)]
    #[case::the_last_day_within(Some(10), None, &[("2026-11-20", 10, NOBODY), ("2026-11-21", 10, NOBODY)], 1, NOBODY)]
    #[case::unread(Some(10), None, &[("2026-11-01", 10, NOBODY), ("2026-11-02", 10, A), ("2026-11-03", 10, NOBODY)], 1, A)]
    #[case::size(None, Some(25), &[("2026-11-01", 10, NOBODY), ("2026-11-02", 10, NOBODY), ("2026-11-03", 10, NOBODY)], 2, NOBODY)]
    #[case::size_that_is_just_enough(None, Some(20), &[("2026-11-01", 10, NOBODY), ("2026-11-02", 10, NOBODY), ("2026-11-03", 10, NOBODY)], 2, NOBODY)]
    #[case::size_spares_yesterday(None, Some(0), &[("2026-11-29", 10, NOBODY), ("2026-11-30", 10, NOBODY), ("2026-12-01", 10, NOBODY)], 1, NOBODY)]
    #[case::from_the_future(Some(1), Some(0), &[("2027-01-01", 10, NOBODY)], 0, NOBODY)]
    #[case::nothing_there(Some(1), Some(0), &[], 0, NOBODY)]
    fn what_goes(
        #[case] days_max: Option<u32>,
        #[case] bytes_max: Option<u64>,
        #[case] files: &[(&str, u64, &[&str])],
        #[case] count: usize,
        #[case] held_by: &[&str],
    ) {
        let policy = RetentionPolicy { days_max, bytes_max, consumer_idle_days: 30 };
        let candidates: Vec<Candidate> = files
            .iter()
            .map(|(day, bytes, _)| Candidate { day: day.parse().unwrap(), bytes: *bytes })
            .collect();
        let total = candidates.iter().map(|file| file.bytes).sum::<u64>() + 10;
        let today = "2026-12-01".parse().unwrap();
        let unread_by = |at: usize| Ok(files[at].2.iter().map(|name| (*name).to_owned()).collect());
        let (gone, held) = plan(&policy, today, &candidates, total, unread_by).unwrap();
        assert_eq!(gone, count);
        assert_eq!(held, held_by);
    }

    #[rstest]
    #[case::first_look(None, None, "2026-12-01T00:00:00Z")]
    #[case::an_hour_later(Some("2026-11-30T23:00:00Z"), Some("2026-11-01T00:00:00Z"), "2026-11-01T00:00:00Z")]
    #[case::a_year_later(Some("2025-11-30T23:00:00Z"), Some("2025-11-01T00:00:00Z"), "2026-12-01T00:00:00Z")]
    #[case::back(Some("2026-12-03T00:00:00Z"), Some("2026-11-01T00:00:00Z"), "2026-12-01T00:00:00Z")]
    #[case::a_long_weekend_later(
        Some("2026-11-16T00:00:00Z"),
        Some("2026-11-01T00:00:00Z"),
        "2026-11-01T00:00:00Z"
    )]
    #[case::longer_than_that(
        Some("2026-11-15T23:59:59Z"),
        Some("2026-11-01T00:00:00Z"),
        "2026-12-01T00:00:00Z"
    )]
    #[case::set_right(Some("2026-12-01T00:05:00Z"), Some("2026-11-01T00:00:00Z"), "2026-11-01T00:00:00Z")]
    #[case::back_by_more(Some("2026-12-01T00:05:01Z"), Some("2026-11-01T00:00:00Z"), "2026-12-01T00:00:00Z")]
    #[case::steady_just_now(
        Some("2026-11-30T23:00:00Z"),
        Some("2026-12-01T00:00:00Z"),
        "2026-12-01T00:00:00Z"
    )]
    #[case::steady_later_than_now(
        Some("2026-12-01T00:00:00Z"),
        Some("2026-12-02T00:00:00Z"),
        "2026-12-01T00:00:00Z"
    )]
    fn a_jump_of_the_calendar_begins_anew(
        #[case] checked_at: Option<&str>,
        #[case] since: Option<&str>,
        #[case] steady: &str,
    ) {
        let time = |text: &str| text.parse::<Timestamp>().unwrap();
        let now = time("2026-12-01T00:00:00Z");
        assert_eq!(steady_since(checked_at.map(time), since.map(time), now, 30), time(steady));
    }
}
