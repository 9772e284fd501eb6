//! Measures the journal on real files: appending with a sync, opening a million records, and the first pull after.
//!
//! Before that a day of steady traffic, which must not cost memory.
//! `cargo bench --profile dist -p entraclaw-inbox --bench journal [-- RECORDS]`.
//! The files are built in a temporary folder below the target folder, because a folder in memory would say nothing.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a benchmark measures real time on real files and prints it"
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use entraclaw_inbox::journal::{ConsumerName, DeliveryId, Journal, JournalOptions, Query, RetentionPolicy};
use entraclaw_inbox::record::{Channel, Draft};
use entraclaw_seams::clock::Clock;
use entraclaw_seams::storage::DiskStorage;
use jiff::{SignedDuration, Timestamp};

const RECORDS: u64 = 1_000_000;
const DAYS: u64 = 5;
const BATCH: u64 = 1_000;
const OPENINGS: usize = 9;
const SINGLE_APPENDS: u64 = 500;

/// A calendar that the benchmark turns over.
struct Days(AtomicI64);

impl Clock for Days {
    fn now(&self) -> Timestamp {
        let noon: Timestamp = "2026-11-17T12:00:00Z".parse().unwrap_or_default();
        noon + SignedDuration::from_hours(24 * self.0.load(Ordering::Relaxed))
    }
}

fn draft(n: u64) -> Draft {
    let id = format!("17{n:011}");
    let meta = [
        ("chat_id", "19:meeting_benchmark@thread.v2"),
        ("message_id", &id),
        ("user", "Alice"),
        ("ts", "2026-11-17T11:59:59.123Z"),
    ];
    Draft {
        key: format!("teams/19:meeting_benchmark@thread.v2/{id}"),
        channel: if n.is_multiple_of(10) { Channel::Email } else { Channel::Teams },
        chat_id: "19:meeting_benchmark@thread.v2".into(),
        from: "Alice".into(),
        ts: "2026-11-17T11:59:59.123Z".into(),
        content_text_sanitized: "Could you look at the build? ".into(),
        meta: BTreeMap::from(meta.map(|(name, value)| (name.to_owned(), value.to_owned()))),
        edit_of: None,
        deleted: false,
        id,
    }
}

fn open(root: &Path, clock: &Arc<Days>) -> Journal {
    let storage = Arc::new(DiskStorage::open(root).expect("the folder is ours"));
    let clock: Arc<dyn Clock> = Arc::<Days>::clone(clock);
    let (journal, report) = Journal::open(storage, clock, JournalOptions::default()).expect("it opens");
    assert!(report.leader && report.findings.is_empty(), "{report:?}");
    journal
}

fn build(root: &Path, clock: &Arc<Days>, records: u64) {
    let journal = open(root, clock);
    let started = Instant::now();
    for first in (0..records).step_by(usize::try_from(BATCH).unwrap_or(1)) {
        clock.0.store(i64::try_from(first * DAYS / records).unwrap_or(0), Ordering::Relaxed);
        journal.append((first..(first + BATCH).min(records)).map(draft).collect()).expect("it appends");
    }
    let rate = Duration::as_secs_f64(&started.elapsed());
    println!("built {records} records in batches of {BATCH}: {:.0} records/s", records as f64 / rate);
}

fn timed(work: impl FnOnce()) -> Duration {
    let started = Instant::now();
    work();
    started.elapsed()
}

fn ms(mut samples: Vec<Duration>) -> String {
    samples.sort_unstable();
    let at = |part: usize| samples[(samples.len() - 1) * part / 100].as_secs_f64() * 1e3;
    format!("median {:.2} ms, p99 {:.2} ms, worst {:.2} ms", at(50), at(99), at(100))
}

/// Messages a second, and how many of them one poll brings.
const DAY_RATE: u64 = 10;
const POLL_SECONDS: u64 = 5;
const HOURS: u64 = 24;

/// A day of steady traffic with a reader that keeps up and one that stays a page behind the oldest, with retention every
/// hour: memory must not grow with the journal, nor a page's time with its length.
fn a_day(root: &Path) {
    let minutes = Arc::new(Minutes(AtomicI64::new(0)));
    let storage = Arc::new(DiskStorage::open(root).expect("the folder is ours"));
    let clock: Arc<dyn Clock> = Arc::<Minutes>::clone(&minutes);
    let (journal, _) = Journal::open(storage, clock, JournalOptions::default()).expect("it opens");
    let reader =
        |name: &str| journal.mailbox(&ConsumerName::new(name).expect("a name"), "bench").expect("a mailbox");
    let (mut live, mut slow) = (reader("live"), reader("slow"));
    let policy = RetentionPolicy { days_max: Some(90), bytes_max: Some(512_000_000), consumer_idle_days: 30 };
    let mut next = 0;
    for hour in 0..HOURS {
        let (mut live_pages, mut slow_pages) = (Vec::new(), Vec::new());
        for poll in 0..3_600 / POLL_SECONDS {
            minutes
                .0
                .store(i64::try_from(hour * 60 + poll * POLL_SECONDS / 60).unwrap_or(0), Ordering::Relaxed);
            let batch = DAY_RATE * POLL_SECONDS;
            journal.append((next..next + batch).map(draft).collect()).expect("it appends");
            next += batch;
            let query = Query { limit: 100, ..Query::default() };
            live_pages.push(timed(|| {
                live.hand_out(DeliveryId(next), &query).expect("a page");
                live.finish(DeliveryId(next));
                live.acknowledge_returned().expect("it acknowledges");
            }));
            if poll % 60 == 0 {
                slow_pages.push(timed(|| {
                    slow.hand_out(DeliveryId(next), &Query::default()).expect("a page");
                    slow.finish(DeliveryId(next));
                    slow.acknowledge_returned().expect("it acknowledges");
                }));
            }
        }
        let pruned = timed(|| drop(journal.prune(&policy).expect("it prunes")));
        if hour % 6 == 0 || hour == HOURS - 1 {
            println!(
                "hour {:>2}, {next:>6} records: memory {}; newest page {}; oldest page {}; retention {:.2} ms",
                hour + 1,
                resident().map_or_else(|| "unknown".to_owned(), |kb| format!("{:.1} MB", kb / 1_024.0)),
                ms(live_pages),
                ms(slow_pages),
                pruned.as_secs_f64() * 1e3
            );
        }
    }
}

/// A calendar by minutes.
struct Minutes(AtomicI64);

impl Clock for Minutes {
    fn now(&self) -> Timestamp {
        let midnight: Timestamp = "2026-11-17T00:00:00Z".parse().unwrap_or_default();
        midnight + SignedDuration::from_mins(self.0.load(Ordering::Relaxed))
    }
}

/// Resident memory of this process in kilobytes, where the system tells.
fn resident() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn main() {
    let records = std::env::args().find_map(|arg| arg.parse().ok()).unwrap_or(RECORDS);
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = tempfile::tempdir_in(target).expect("a folder below the target folder");
    let root = folder.path().join("home");
    a_day(&folder.path().join("day"));
    let clock = Arc::new(Days(AtomicI64::new(0)));
    build(&root, &clock, records);

    let empty = |n: usize| folder.path().join(format!("empty-{n}"));
    let first = (0..OPENINGS).map(|n| timed(|| drop(open(&empty(n), &clock)))).collect();
    println!("open in a new home folder: {}", ms(first));
    let again = (0..OPENINGS).map(|n| timed(|| drop(open(&empty(n), &clock)))).collect();
    println!("open in an empty one: {}", ms(again));

    let (mut opened, mut pulled, mut pulled_again) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..OPENINGS {
        let name = ConsumerName::new(&format!("c{round}")).expect("a name");
        let started = Instant::now();
        let journal = open(&root, &clock);
        opened.push(started.elapsed());
        // A new consumer has everything before it: the oldest page comes from the first file.
        for samples in [&mut pulled, &mut pulled_again] {
            let started = Instant::now();
            let mut mailbox = journal.mailbox(&name, "bench").expect("a mailbox");
            let page = mailbox.hand_out(DeliveryId(1), &Query::default()).expect("a page");
            samples.push(started.elapsed());
            assert_eq!(page.items.len(), 20);
            assert_eq!(page.unread_remaining, records - 20);
        }
    }
    println!("open with {records} records: {}", ms(opened));
    println!("first pull after opening, from the oldest record: {}", ms(pulled));
    println!("second session's pull: {}", ms(pulled_again));

    let journal = open(&root, &clock);
    let mut mailbox =
        journal.mailbox(&ConsumerName::new("live").expect("a name"), "bench").expect("a mailbox");
    let started = Instant::now();
    let (mut appends, mut pulls) = (Vec::new(), Vec::new());
    for n in 0..SINGLE_APPENDS {
        let one = Instant::now();
        journal.append(vec![draft(records + n)]).expect("it appends");
        appends.push(one.elapsed());
        let one = Instant::now();
        mailbox.hand_out(DeliveryId(n), &Query::default()).expect("a page");
        mailbox.finish(DeliveryId(n));
        mailbox.acknowledge_returned().expect("it acknowledges");
        pulls.push(one.elapsed());
    }
    let rate = SINGLE_APPENDS as f64 / started.elapsed().as_secs_f64();
    println!("append of one record with sync, audit and summary: {}", ms(appends));
    println!("hand-out of 20 and their acknowledgement: {}", ms(pulls));
    println!("append, hand-out, acknowledgement in turn: {rate:.0} rounds/s");
}
