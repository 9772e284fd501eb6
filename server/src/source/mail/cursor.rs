//! How far the inbox has been read: `sources/mail.json`.
//! It must never be fatal: a broken file is kept aside, and reading starts again from a safe point, not from nothing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::journal::Journal;
use crate::record::Channel;
use crate::storage::Storage;

/// Where the cursor is kept.
pub const CURSOR_FILE: &str = "sources/mail.json";
const FOLDER: &str = "sources";
/// Where one that can't be read is kept; the newest of them.
const BROKEN_FILE: &str = "sources/mail.json.broken";
/// The largest cursor that is read.
const CURSOR_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Marks of mails that were dealt with, two a mail; the oldest are forgotten first.
pub(super) const SEEN_MAX: usize = 8_192;
/// Mails that can wait to be read again.
pub(super) const PENDING_MAX: usize = 1_000;
/// How far before the journal's newest mail reading starts when the cursor is lost.
const SAFE_POINT_BEFORE: SignedDuration = SignedDuration::from_hours(1);
/// Newest records that are looked at for that.
const SAFE_POINT_RECORDS: usize = 500;

/// The whole position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cursor {
    /// Version of this shape; 1.
    pub(super) v: u32,
    /// What was received before this is history.
    pub(super) since: Timestamp,
    /// The newest time of receipt that was dealt with.
    pub(super) read_to: Timestamp,
    /// Where to go on, as Graph gave it; absent before the first page and after a reset.
    #[serde(default)]
    pub(super) link: Option<String>,
    /// When the link's series began; Graph bounds how many mails a series with a filter holds.
    #[serde(default)]
    pub(super) begun: Option<Timestamp>,
    /// Mails that are known and could not be read yet, with the time from which they are tried.
    #[serde(default)]
    pub(super) pending: BTreeMap<String, Timestamp>,
    /// Mails that were dealt with.
    #[serde(default)]
    pub(super) seen: Seen,
}

impl Cursor {
    /// A first start: everything before `since` is history.
    pub(super) fn starting_at(since: Timestamp) -> Self {
        Self {
            v: 1,
            since,
            read_to: since,
            link: None,
            begun: None,
            pending: BTreeMap::new(),
            seen: Seen::default(),
        }
    }
}

/// A set of marks that forgets its oldest when it is full. Marks are hashes, for some ids are chosen by strangers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "VecDeque<String>", into = "VecDeque<String>")]
pub(super) struct Seen {
    order: VecDeque<String>,
    known: BTreeSet<String>,
}

impl From<VecDeque<String>> for Seen {
    fn from(mut order: VecDeque<String>) -> Self {
        let excess = order.len().saturating_sub(SEEN_MAX);
        order.drain(..excess);
        Self { known: order.iter().cloned().collect(), order }
    }
}

impl From<Seen> for VecDeque<String> {
    fn from(seen: Seen) -> Self {
        seen.order
    }
}

impl Seen {
    /// Whether `id`, or a mail of this key, was dealt with.
    pub(super) fn has(&self, what: &str) -> bool {
        self.known.contains(&mark(what))
    }

    pub(super) fn note(&mut self, what: &str) {
        let mark = mark(what);
        if !self.known.insert(mark.clone()) {
            return;
        }
        self.order.push_back(mark);
        if self.order.len() > SEEN_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}

fn mark(what: &str) -> String {
    use std::fmt::Write as _;
    const MARK_BYTES: usize = 12;
    let digest = Sha256::digest(what.as_bytes());
    digest.iter().take(MARK_BYTES).fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// What was found on disk.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A position.
    Saved(Cursor),
    /// None: this is a first start.
    Nothing,
    /// A broken one; reading starts from a safe point.
    Broken(Cursor, String),
}

/// Reads the position. Whatever is wrong with it, the answer is one to go on with.
pub(super) fn load(storage: &dyn Storage, journal: &Journal) -> Found {
    let problem = match read(storage) {
        Ok(None) => return Found::Nothing,
        Ok(Some(cursor)) => return Found::Saved(cursor),
        Err(problem) => problem,
    };
    if let Err(error) = storage.rename(CURSOR_FILE, BROKEN_FILE) {
        tracing::warn!(%error, file = CURSOR_FILE, "a broken cursor could not be kept aside");
    }
    match safe_point(journal) {
        Some(since) => Found::Broken(Cursor::starting_at(since), problem),
        None => Found::Nothing,
    }
}

fn read(storage: &dyn Storage) -> Result<Option<Cursor>, String> {
    let Some(length) = storage.len(CURSOR_FILE).map_err(|e| e.to_string())? else { return Ok(None) };
    if length > CURSOR_BYTES_MAX {
        return Err(format!("it has {length} bytes"));
    }
    let length = usize::try_from(length).map_err(|e| e.to_string())?;
    let bytes = storage.read(CURSOR_FILE, 0, length).map_err(|e| e.to_string())?;
    let cursor: Cursor = serde_json::from_slice(&bytes).map_err(|e| e.to_string())?;
    if cursor.v == 1 { Ok(Some(cursor)) } else { Err(format!("it has version {}", cursor.v)) }
}

/// A little before the newest mail of the journal, whose keys keep what is read again from being news.
fn safe_point(journal: &Journal) -> Option<Timestamp> {
    let from = journal.last_seq().saturating_sub(SAFE_POINT_RECORDS as u64);
    let records = journal.read_after(from, SAFE_POINT_RECORDS).ok()?;
    let newest = records
        .iter()
        .filter(|r| r.channel == Channel::Email)
        .filter_map(|r| {
            let taken: Timestamp = r.received_at.parse().ok()?;
            Some(r.ts.parse().map_or(taken, |received: Timestamp| received.min(taken)))
        })
        .max()?;
    newest.checked_sub(SAFE_POINT_BEFORE).ok()
}

/// Writes the position, atomically.
pub(super) fn save(storage: &dyn Storage, cursor: &Cursor) -> std::io::Result<()> {
    storage.create_dir(FOLDER)?;
    let mut bytes = serde_json::to_vec(cursor).map_err(std::io::Error::other)?;
    bytes.push(b'\n');
    storage.replace(CURSOR_FILE, &bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_mark_is_forgotten_also_after_a_restart() {
        let mut seen = Seen::default();
        for n in 0..SEEN_MAX + 2 {
            seen.note(&n.to_string());
            seen.note(&n.to_string());
        }
        assert!(!seen.has("1") && seen.has("2"));
        let read: Seen = serde_json::from_str(&serde_json::to_string(&seen).unwrap()).unwrap();
        assert_eq!(read, seen);
        let longer: VecDeque<String> = (0..SEEN_MAX * 2).map(|n| mark(&n.to_string())).collect();
        assert!(Seen::from(longer).has(&(SEEN_MAX * 2 - 1).to_string()));
    }

    #[test]
    fn the_largest_position_can_be_read_again() {
        let mut cursor = Cursor::starting_at(Timestamp::UNIX_EPOCH);
        cursor.link = Some("x".repeat(16 * 1024));
        for n in 0..SEEN_MAX {
            cursor.seen.note(&n.to_string());
        }
        for n in 0..PENDING_MAX {
            cursor.pending.insert(format!("{n:01000}"), Timestamp::UNIX_EPOCH);
        }
        let bytes = serde_json::to_vec(&cursor).unwrap();
        assert!(bytes.len() as u64 <= CURSOR_BYTES_MAX, "{}", bytes.len());
        assert_eq!(serde_json::from_slice::<Cursor>(&bytes).unwrap(), cursor);
    }
}
