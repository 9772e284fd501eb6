//! How far Teams has been read: `sources/teams.json`.
//! It must never be fatal: a broken file is kept aside, and reading starts again from a safe point, not from nothing.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::journal::Journal;
use crate::record::Channel;
use crate::storage::Storage;

/// Where the cursor is kept.
pub const CURSOR_FILE: &str = "sources/teams.json";
const FOLDER: &str = "sources";
/// Where one that can't be read is kept; the newest of them.
const BROKEN_FILE: &str = "sources/teams.json.broken";
/// The largest cursor that is read.
const CURSOR_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Chats whose position is kept; those that have been silent longest are forgotten first, which is safe, for they
/// come back as new ones whose older messages are history.
pub(super) const CHATS_MAX: usize = 1_000;
/// Edited or deleted messages a chat remembers, to tell an edit that was delivered from a later one; and as many that
/// were not delivered, to tell them from those that were not judged yet.
pub(super) const RECENT_MAX: usize = 32;
/// How far before the journal's newest message reading starts when the cursor is lost.
const SAFE_POINT_BEFORE: SignedDuration = SignedDuration::from_mins(10);
/// Newest records that are looked at for that.
const SAFE_POINT_RECORDS: usize = 200;

/// The whole position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cursor {
    /// Version of this shape; 1.
    pub(super) v: u32,
    /// What was written before this is history.
    pub(super) since: Timestamp,
    /// Newest preview time that the list has shown: a chat that turns up later has nothing news-worthy before it.
    pub(super) watermark: Timestamp,
    /// Whether the list was once seen to its end, so that a chat that is not in `chats` did not exist then.
    #[serde(default)]
    pub(super) all_known: bool,
    /// Time of the oldest thing that the list has shown and nobody has read yet.
    #[serde(default)]
    pub(super) behind: Option<Timestamp>,
    /// Position in each chat.
    #[serde(default)]
    pub(super) chats: BTreeMap<String, ChatCursor>,
}

/// The position in one chat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ChatCursor {
    /// Messages created up to here are history.
    pub(super) floor: Timestamp,
    /// Everything that changed up to here, and could be seen then, has been read.
    pub(super) read_to: Timestamp,
    /// Up to here, what turned up late has been looked for as well; where it is missing, up to `read_to`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) settled_to: Option<Timestamp>,
    /// The preview that was read; empty before the first read.
    #[serde(default)]
    pub(super) print: String,
    /// Messages that were delivered edited or deleted, with the stamp of that. Of those that were delivered as they were
    /// written, the journal knows.
    #[serde(default)]
    pub(super) recent: BTreeMap<String, String>,
    /// Messages that were judged and not delivered, with the stamp that they had. They are read again for a while, and
    /// must not be logged again, nor delivered because their author has been let in since.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) passed: BTreeMap<String, String>,
}

impl Cursor {
    /// A first start: everything before `since` is history.
    pub(super) fn starting_at(since: Timestamp) -> Self {
        Self { v: 1, since, watermark: since, all_known: false, behind: None, chats: BTreeMap::new() }
    }

    /// Forgets the chats that were read longest ago, but none that `needed` names.
    pub(super) fn prune(&mut self, needed: impl Fn(&str) -> bool) {
        let excess = self.chats.len().saturating_sub(CHATS_MAX);
        if excess == 0 {
            return;
        }
        let mut by_age: Vec<(Timestamp, String)> = self
            .chats
            .iter()
            .filter(|(id, _)| !needed(id))
            .map(|(id, chat)| (chat.read_to, id.clone()))
            .collect();
        by_age.sort();
        for (_, id) in by_age.into_iter().take(excess) {
            self.chats.remove(&id);
        }
        self.all_known = false;
    }
}

impl ChatCursor {
    /// A chat in which everything up to `floor` is history.
    pub(super) fn from_floor(floor: Timestamp) -> Self {
        Self {
            floor,
            read_to: floor,
            settled_to: None,
            print: String::new(),
            recent: BTreeMap::new(),
            passed: BTreeMap::new(),
        }
    }

    /// From where a reading that leaves nothing out starts.
    pub(super) fn unsettled_from(&self, overlap: SignedDuration) -> Timestamp {
        let settled_to = self.settled_to.unwrap_or(self.read_to).min(self.read_to);
        settled_to.checked_sub(overlap).unwrap_or(settled_to).max(self.floor)
    }

    /// Remembers how far a reading from `from` on has been.
    pub(super) fn note_read_from(&mut self, from: Timestamp, was: &Self, overlap: SignedDuration) {
        let whole = from <= was.unsettled_from(overlap);
        self.settled_to = if whole { None } else { was.settled_to.or(Some(was.read_to)) };
    }

    /// Remembers a message that was delivered edited or deleted.
    pub(super) fn note_delivered(&mut self, message_id: &str, stamp: &str) {
        remember(&mut self.recent, message_id, stamp);
    }

    /// Remembers a message that is not delivered.
    pub(super) fn note_passed(&mut self, message_id: &str, stamp: &str) {
        remember(&mut self.passed, message_id, stamp);
    }
}

fn remember(messages: &mut BTreeMap<String, String>, message_id: &str, stamp: &str) {
    messages.insert(message_id.to_owned(), stamp.to_owned());
    while messages.len() > RECENT_MAX {
        // Message ids are times, so the first is the oldest.
        messages.pop_first();
    }
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

/// A little before the newest Teams message of the journal, whose keys keep what is read again from being news.
fn safe_point(journal: &Journal) -> Option<Timestamp> {
    let from = journal.last_seq().saturating_sub(SAFE_POINT_RECORDS as u64);
    let records = journal.read_after(from, SAFE_POINT_RECORDS).ok()?;
    let newest = records
        .iter()
        .filter(|r| r.channel == Channel::Teams)
        .filter_map(|r| {
            let received: Timestamp = r.received_at.parse().ok()?;
            Some(r.ts.parse().map_or(received, |written: Timestamp| written.min(received)))
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
    fn the_position_is_bounded_and_keeps_what_is_needed() {
        let start: Timestamp = "2026-11-21T10:00:00Z".parse().unwrap();
        let mut cursor = Cursor::starting_at(start);
        cursor.all_known = true;
        for n in 0..CHATS_MAX + 50 {
            let at = start + SignedDuration::from_secs(i64::try_from(n).unwrap());
            cursor.chats.insert(format!("{n:05}"), ChatCursor::from_floor(at));
        }
        cursor.prune(|id| id == "00007");
        assert_eq!(cursor.chats.len(), CHATS_MAX);
        assert!(cursor.chats.contains_key("00007") && !cursor.chats.contains_key("00008"));
        assert!(!cursor.all_known, "a chat that comes back is no new one");
    }

    #[test]
    fn a_reading_that_stopped_early_leaves_its_overlap_to_the_next() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let overlap = SignedDuration::from_secs(30);
        let start = ChatCursor { read_to: at(100), ..ChatCursor::from_floor(at(0)) };
        let read = |from, read_to, was: &ChatCursor| {
            let mut next = ChatCursor { read_to: at(read_to), ..was.clone() };
            next.note_read_from(at(from), was, overlap);
            next
        };
        let prompt = read(95, 200, &start);
        assert_eq!(prompt.unsettled_from(overlap), at(70));
        let prompt = read(195, 300, &prompt);
        assert_eq!(prompt.unsettled_from(overlap), at(70), "a second one forgets nothing");
        let whole = read(70, 300, &prompt);
        assert_eq!(whole.unsettled_from(overlap), at(270));
    }

    #[test]
    fn delivered_messages_are_remembered_up_to_a_bound() {
        let mut chat = ChatCursor::from_floor(Timestamp::UNIX_EPOCH);
        for n in 0..RECENT_MAX + 5 {
            chat.note_delivered(&format!("{n:03}"), "");
        }
        assert_eq!(chat.recent.len(), RECENT_MAX);
        assert!(!chat.recent.contains_key("004") && chat.recent.contains_key("005"));
    }
}
