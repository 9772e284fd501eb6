//! How far a source has read: one file below `sources/`, checked when read and written whole. Each term of
//! leadership has its own file, so that a replaced leader that resumes overwrites no other leader's file.
//!
//! It must never be fatal: a broken file is kept aside, and reading starts again from a safe point, not from
//! nothing. It must never forget a first start: every message that is written after it is new, however long
//! the first answer takes.

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
/// The version of a position's shape.
pub const POSITION_VERSION: u32 = 1;
/// How many of the newest records are searched for a safe point.
const SAFE_POINT_RECORDS: usize = 500;

/// How far back reading starts when the position is lost and the journal has no record of the source.
/// Messages that came while no server ran must come late rather than never.
const LOST_POSITION_BACK: SignedDuration = SignedDuration::from_hours(7 * 24);
/// The greatest age of a first start; an older time was noted by a wrong clock.
const FIRST_START_AGO_MAX: Duration = Duration::from_secs(7 * 24 * 3_600);

/// The position of one source.
pub trait Position: Serialize + DeserializeOwned {
    /// The file that keeps the position.
    const FILE: &'static str;
    /// The file that keeps the newest position that could not be read.
    const BROKEN_FILE: &'static str;
    /// The largest position file that is read.
    const BYTES_MAX: u64;
    /// The channel of the source's records.
    const CHANNEL: Channel;
    /// How far before the journal's newest record reading starts when the position is lost.
    const SAFE_POINT_BEFORE: SignedDuration;

    /// A position from which everything before `since` is history.
    fn starting_at(since: Timestamp) -> Self;
    /// The version of the position's shape.
    fn version(&self) -> u32;
    /// The time of the first start, by this machine's clock; `None` once the source has answered.
    fn first_start(&mut self) -> &mut Option<Timestamp>;
}

/// A first start whose source has not answered yet. The end of history is a time of the source's clock.
#[derive(Debug, Clone, Copy)]
pub struct FirstStart {
    ago: Duration,
    seen: Instant,
}

impl FirstStart {
    /// The end of history: `look_back` before the first start, by the source's clock.
    pub fn history_ends(self, look_back: Duration, server_now: Timestamp) -> Timestamp {
        let ago = self.ago.saturating_add(self.seen.elapsed()).saturating_add(look_back);
        let ago = SignedDuration::try_from(ago).unwrap_or(SignedDuration::ZERO);
        server_now.checked_sub(ago).unwrap_or(server_now)
    }
}

/// The position to go on from, the first start if the source has not answered since, and the term to save
/// under. `started` is the start of this process.
pub fn begin<P: Position>(
    storage: &dyn Storage,
    journal: &Journal,
    clock: &dyn Clock,
    started: Instant,
) -> (P, Option<FirstStart>, u64) {
    let now = clock.now();
    let term = journal.term();
    let (position, first, what) = match load::<P>(storage, journal, term, now) {
        Found::Saved(mut position) => {
            let first = position.first_start().map(|at| {
                let ago = Duration::try_from(now.duration_since(at)).unwrap_or_default();
                if ago > FIRST_START_AGO_MAX {
                    tracing::warn!(%at, file = P::FILE, "the first start is long ago, or the clock was wrong then");
                }
                FirstStart { ago: ago.min(FIRST_START_AGO_MAX), seen: Instant::now() }
            });
            return (position, first, term);
        }
        Found::Nothing => {
            let first = FirstStart { ago: started.elapsed(), seen: Instant::now() };
            let mut position = P::starting_at(now);
            *position.first_start() = Some(first.history_ends(Duration::ZERO, now));
            (position, Some(first), "the first start")
        }
        Found::Broken(position, since, problem) => {
            let detail = format!("{} was broken ({problem}); reading again from {since}", P::FILE);
            tracing::warn!("{detail}");
            journal.interaction(Interaction::fault(detail));
            // If this process ends before the first answer, the next start must not count as a first start.
            (position, None, "the place to read again from")
        }
    };
    if let Err(error) = save(storage, term, &position) {
        tracing::warn!(%error, file = P::FILE, "{what} could not be noted");
    }
    (position, first, term)
}

enum Found<P> {
    Saved(P),
    /// No position is stored, so this is a first start.
    Nothing,
    /// Reading starts from a safe point.
    Broken(P, Timestamp, String),
}

fn load<P: Position>(storage: &dyn Storage, journal: &Journal, term: u64, now: Timestamp) -> Found<P> {
    let file = newest_path(storage, term, P::FILE).unwrap_or_else(|_| P::FILE.to_owned());
    let problem = match read::<P>(storage, &file) {
        // A process that ended right after keeping the file aside left this state.
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

/// A time a little before the source's newest record in the journal. The record keys keep messages that are
/// read again from counting as new.
fn safe_point<P: Position>(journal: &Journal) -> Option<Timestamp> {
    let from = journal.last_seq().saturating_sub(SAFE_POINT_RECORDS as u64);
    let records = journal.read_after(from, SAFE_POINT_RECORDS).ok()?;
    let time = |r: &Record| {
        let received: Timestamp = r.received_at.parse().ok()?;
        Some(r.ts.parse().map_or(received, |written: Timestamp| written.min(received)))
    };
    let lately = records.iter().filter(|r| r.channel == P::CHANNEL).filter_map(time).max();
    // Other sources may have had more messages since.
    let newest = lately.or_else(|| time(&journal.newest_of(P::CHANNEL).ok()??))?;
    newest.checked_sub(P::SAFE_POINT_BEFORE).ok()
}

/// Writes the position of a term, atomically.
pub fn save<P: Position>(storage: &dyn Storage, term: u64, position: &P) -> io::Result<()> {
    storage.create_dir(FOLDER)?;
    storage.replace(&path_in(term, P::FILE), &to_bytes(position)?)
}

/// Returns why the position could not be saved, and logs it unless it is the error known before.
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

/// The bytes of a position's file.
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
        // The replaced leader resumes in the middle of saving.
        save(&disk, first_term, &at(150)).unwrap();
        assert_eq!(begun(&second).0.since.as_second(), 200);
    }
}
