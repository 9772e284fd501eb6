//! How far a source has read: one file below `sources/`, read with doubt and written whole. In each term of leadership
//! it is another one, so that a leader which was replaced and wakes up writes over nobody's.
//!
//! It must never be fatal: a broken file is kept aside, and reading starts again from a safe point, not from nothing.
//! Nor may a first start be forgotten: whatever is written after it is news, however long the first answer takes.

use std::io;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use crate::journal::{Interaction, Journal, newest_path, path_in};
use crate::record::{Channel, Record};
use entraclaw_seams::clock::Clock;
use entraclaw_seams::storage::{Storage, read_whole};

const FOLDER: &str = "sources";
/// The only version there is.
pub const POSITION_VERSION: u32 = 1;
/// Newest records that are looked at for a safe point.
const SAFE_POINT_RECORDS: usize = 500;

/// How far back reading starts when the position is lost and the journal has nothing of the source: what came while no
/// server ran must come late rather than never.
const LOST_POSITION_BACK: SignedDuration = SignedDuration::from_hours(7 * 24);
/// A first start that is longer ago was noted by a clock that was wrong.
const FIRST_START_AGO_MAX: Duration = Duration::from_secs(7 * 24 * 3_600);

/// The position of one source.
pub trait Position: Serialize + DeserializeOwned {
    /// Where it is kept.
    const FILE: &'static str;
    /// Where one that can't be read is kept; the newest of them.
    const BROKEN_FILE: &'static str;
    /// The largest file that is read.
    const BYTES_MAX: u64;
    /// What the source's records are.
    const CHANNEL: Channel;
    /// How far before the journal's newest record reading starts when the position is lost.
    const SAFE_POINT_BEFORE: SignedDuration;

    /// Everything before `since` is history.
    fn starting_at(since: Timestamp) -> Self;
    /// Version of its shape.
    fn version(&self) -> u32;
    /// When the first start was, by this machine's clock; nothing once the source has answered.
    fn first_start(&mut self) -> &mut Option<Timestamp>;
}

/// A first start whose source has not answered yet. Where history ends is known by the source's clock only.
#[derive(Debug, Clone, Copy)]
pub struct FirstStart {
    ago: Duration,
    seen: Instant,
}

impl FirstStart {
    /// Where history ends: `look_back` before the first start, by the source's clock.
    pub fn history_ends(self, look_back: Duration, server_now: Timestamp) -> Timestamp {
        let ago = self.ago.saturating_add(self.seen.elapsed()).saturating_add(look_back);
        let ago = SignedDuration::try_from(ago).unwrap_or(SignedDuration::ZERO);
        server_now.checked_sub(ago).unwrap_or(server_now)
    }
}

/// The position to go on with, the first start when no source has answered since, and the term in which it is saved.
/// `started` is when this process was.
pub fn begin<P: Position>(
    storage: &dyn Storage,
    journal: &Journal,
    clock: &dyn Clock,
    started: Instant,
) -> (P, Option<FirstStart>, u64) {
    let now = clock.now();
    let term = journal.term();
    match load::<P>(storage, journal, term, now) {
        Found::Saved(mut position) => {
            let first = position.first_start().map(|at| {
                let ago = Duration::try_from(now.duration_since(at)).unwrap_or_default();
                if ago > FIRST_START_AGO_MAX {
                    tracing::warn!(%at, file = P::FILE, "the first start is long ago, or the clock was wrong then");
                }
                FirstStart { ago: ago.min(FIRST_START_AGO_MAX), seen: Instant::now() }
            });
            (position, first, term)
        }
        Found::Nothing => {
            let first = FirstStart { ago: started.elapsed(), seen: Instant::now() };
            let mut position = P::starting_at(now);
            *position.first_start() = Some(first.history_ends(Duration::ZERO, now));
            if let Err(error) = save(storage, term, &position) {
                tracing::warn!(%error, file = P::FILE, "the first start could not be noted");
            }
            (position, Some(first), term)
        }
        Found::Broken(position, since, problem) => {
            let detail = format!("{} was broken ({problem}); reading again from {since}", P::FILE);
            tracing::warn!("{detail}");
            journal.interaction(Interaction::fault(detail));
            // Who dies before the first answer must not be taken for a first start.
            if let Err(error) = save(storage, term, &position) {
                tracing::warn!(%error, file = P::FILE, "the place to read again from could not be noted");
            }
            (position, None, term)
        }
    }
}

enum Found<P> {
    Saved(P),
    /// This is a first start.
    Nothing,
    /// Reading starts from a safe point.
    Broken(P, Timestamp, String),
}

fn load<P: Position>(storage: &dyn Storage, journal: &Journal, term: u64, now: Timestamp) -> Found<P> {
    let file = newest_path(storage, term, P::FILE).unwrap_or_else(|_| P::FILE.to_owned());
    let problem = match read::<P>(storage, &file) {
        // Kept aside by somebody who died then.
        Ok(None) if matches!(storage.len(P::BROKEN_FILE), Ok(Some(_))) => "it was kept aside".to_owned(),
        Ok(None) => return Found::Nothing,
        Ok(Some(position)) => return Found::Saved(position),
        Err(problem) => {
            if let Err(error) = storage.rename(&file, P::BROKEN_FILE) {
                tracing::warn!(%error, file = P::FILE, "a broken position could not be kept aside");
            }
            problem
        }
    };
    let (since, problem) = match safe_point::<P>(journal) {
        Some(since) => (since, problem),
        None => (
            now.saturating_sub(LOST_POSITION_BACK).unwrap_or(now),
            format!("{problem}, and the journal has no message of this source"),
        ),
    };
    Found::Broken(P::starting_at(since), since, problem)
}

fn read<P: Position>(storage: &dyn Storage, file: &str) -> Result<Option<P>, String> {
    let Some(bytes) = read_whole(storage, file, P::BYTES_MAX).map_err(|e| e.to_string())? else {
        return Ok(None);
    };
    let position: P = serde_json::from_slice(&bytes).map_err(|e| e.to_string())?;
    match position.version() {
        POSITION_VERSION => Ok(Some(position)),
        other => Err(format!("it has version {other}")),
    }
}

/// A little before the source's newest record in the journal, whose keys keep what is read again from being news.
fn safe_point<P: Position>(journal: &Journal) -> Option<Timestamp> {
    let from = journal.last_seq().saturating_sub(SAFE_POINT_RECORDS as u64);
    let records = journal.read_after(from, SAFE_POINT_RECORDS).ok()?;
    let time = |r: &Record| {
        let received: Timestamp = r.received_at.parse().ok()?;
        Some(r.ts.parse().map_or(received, |written: Timestamp| written.min(received)))
    };
    let lately = records.iter().filter(|r| r.channel == P::CHANNEL).filter_map(time).max();
    // Another source may have been busier since.
    let newest = lately.or_else(|| time(&journal.newest_of(P::CHANNEL).ok()??))?;
    newest.checked_sub(P::SAFE_POINT_BEFORE).ok()
}

/// Writes the position of a term, atomically.
pub fn save<P: Position>(storage: &dyn Storage, term: u64, position: &P) -> io::Result<()> {
    storage.create_dir(FOLDER)?;
    storage.replace(&path_in(term, P::FILE), &to_bytes(position)?)
}

/// What saving came to: why it could not be saved. That is logged when it is not what was known before.
pub fn note_saved<P: Position>(known: Option<&String>, saved: io::Result<()>) -> Option<String> {
    let error = saved.err()?;
    let why = format!(
        "{} could not be saved: {error}; make it writable, or after a restart old messages are read again",
        P::FILE
    );
    if known != Some(&why) {
        tracing::warn!("{why}");
    }
    Some(why)
}

/// A position as its file has it.
pub fn to_bytes<P: Position>(position: &P) -> io::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(position).map_err(io::Error::other)?;
    bytes.push(b'\n');
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::journal::JournalOptions;
    use entraclaw_seams::clock::SystemClock;
    use entraclaw_seams::storage::MemoryStorage;

    #[derive(Debug, Serialize, serde::Deserialize)]
    struct Read {
        v: u32,
        since: Timestamp,
        first_start: Option<Timestamp>,
    }

    impl Position for Read {
        const FILE: &'static str = "sources/test.json";
        const BROKEN_FILE: &'static str = "sources/test.json.broken";
        const BYTES_MAX: u64 = 1_000;
        const CHANNEL: Channel = Channel::Teams;
        const SAFE_POINT_BEFORE: SignedDuration = SignedDuration::ZERO;

        fn starting_at(since: Timestamp) -> Self {
            Self { v: POSITION_VERSION, since, first_start: None }
        }

        fn version(&self) -> u32 {
            self.v
        }

        fn first_start(&mut self) -> &mut Option<Timestamp> {
            &mut self.first_start
        }
    }

    #[tokio::test]
    async fn a_leader_that_was_replaced_writes_over_nobodys_position() {
        let disk = MemoryStorage::new();
        let open = || {
            let storage: Arc<dyn Storage> = Arc::new(disk.new_process());
            let options = JournalOptions::default();
            Journal::open(storage, Arc::new(SystemClock), options).unwrap().0
        };
        let at = |second| Read::starting_at(Timestamp::from_second(second).unwrap());
        let begun = |journal: &Journal| begin::<Read>(&disk, journal, &SystemClock, Instant::now());
        let (first, second) = (open(), open());
        let (_, _, first_term) = begun(&first);
        save(&disk, first_term, &at(100)).unwrap();
        assert!(second.replace_leader(&second.pulse().unwrap()).unwrap());
        let (position, _, second_term) = begun(&second);
        assert_eq!(position.since.as_second(), 100, "it goes on where the one before was");
        save(&disk, second_term, &at(200)).unwrap();
        // The first one wakes up in the middle of saving.
        save(&disk, first_term, &at(150)).unwrap();
        assert_eq!(begun(&second).0.since.as_second(), 200);
    }
}
