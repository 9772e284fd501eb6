//! How far Teams has been read: `sources/teams.json`.
//! It must never be fatal: a broken file is kept aside, and reading starts again from a safe point, not from nothing.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use entraclaw_inbox::record::Channel;
use entraclaw_inbox::source::position::{self, POSITION_VERSION, Position};

/// Where the cursor is kept.
pub const CURSOR_FILE: &str = "sources/teams.json";
/// The largest cursor that is read.
const CURSOR_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Chats whose position is kept; those that have been silent longest are forgotten first, which is safe, for they
/// come back as new ones whose older messages are history.
pub(super) const CHATS_MAX: usize = 1_000;
/// Edited or deleted messages a chat remembers, to tell an edit that was delivered from a later one; and as many that
/// were not delivered, to tell them from those that were not judged yet.
pub(super) const RECENT_MAX: usize = 32;

/// The whole position.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cursor {
    /// Version of this shape; 1.
    pub(super) v: u32,
    /// What was written before this is history.
    pub(super) since: Timestamp,
    /// When the first start was, by this machine's clock, while Graph has not answered yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) first_start: Option<Timestamp>,
    /// Newest preview time that the list has shown: a chat that turns up later has nothing news-worthy before it.
    pub(super) watermark: Timestamp,
    /// Whether the list was once seen to its end, so that a chat that is not in `chats` did not exist then.
    #[serde(default)]
    pub(super) all_known: bool,
    /// Time of the oldest thing that the list has shown and nobody has read yet, or of the oldest chat that is open.
    #[serde(default)]
    pub(super) behind: Option<Timestamp>,
    /// When the last loss of the journal's files was noticed for which was read again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) losses_done: Option<Timestamp>,
    /// Position in each chat.
    #[serde(default)]
    pub(super) chats: BTreeMap<String, ChatCursor>,
}

/// The position in one chat.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ChatCursor {
    /// Messages created up to here are history.
    pub(super) floor: Timestamp,
    /// Everything that changed up to here, and could be seen then, has been read.
    pub(super) read_to: Timestamp,
    /// Up to here, what turned up late has been looked for as well; where it is missing, up to `read_to`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) settled_to: Option<Timestamp>,
    /// Something older than `read_to` may still turn up, and nobody has looked since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) open: bool,
    /// The preview that was read; empty before the first read.
    #[serde(default)]
    pub(super) print: String,
    /// Messages that were delivered edited or deleted, with the stamp of that. Of those that were delivered as they were
    /// written, the journal knows.
    #[serde(default)]
    pub(super) recent: BTreeMap<String, String>,
    /// Messages that were delivered and that the next reading comes over again, with when they were written: the journal
    /// forgets its keys with its days, and a chat may be silent for longer.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) near: BTreeMap<String, Timestamp>,
    /// Messages that were judged and not delivered, with the stamp that they had. They are read again for a while, and
    /// must not be logged again, nor delivered because their author has been let in since.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) passed: BTreeMap<String, String>,
}

/// How far Graph's clock may be from what its answers say of it: their dates have whole seconds.
const CLOCK_MARGIN: SignedDuration = SignedDuration::from_secs(2);

impl Cursor {
    /// Everything that was written after `from` is to be read once more, and the journal tells what of it is news.
    pub(super) fn go_back_to(&mut self, from: Timestamp) {
        let from = from.max(self.since);
        for chat in self.chats.values_mut().filter(|chat| chat.read_to > from) {
            chat.go_back_to(from);
        }
        self.behind = Some(self.behind.map_or(from, |behind| behind.min(from)));
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
        Self { floor, read_to: floor, ..Self::default() }
    }

    /// See [`Cursor::go_back_to`]. What was refused stays refused.
    fn go_back_to(&mut self, from: Timestamp) {
        self.read_to = self.floor.max(from);
        self.settled_to = None;
        self.open = true;
        self.print.clear();
        self.recent.clear();
        self.near.clear();
    }

    /// Whether anything was read there.
    pub(super) fn was_active(&self) -> bool {
        self.read_to > self.floor
    }

    /// From where a reading that leaves nothing out starts.
    pub(super) fn unsettled_from(&self, overlap: SignedDuration) -> Timestamp {
        let settled_to = self.settled_to.unwrap_or(self.read_to).min(self.read_to);
        settled_to.checked_sub(overlap).unwrap_or(settled_to).max(self.floor)
    }

    /// The moment from which a reading finds all that turned up late, by Graph's clock.
    pub(super) fn settles_at(&self, overlap: SignedDuration) -> Timestamp {
        let overlap = overlap.saturating_add(CLOCK_MARGIN);
        self.read_to.checked_add(overlap).unwrap_or(Timestamp::MAX)
    }

    /// Remembers how far a reading from `from` on has been, which began at `began` by Graph's clock.
    pub(super) fn note_read_from(
        &mut self,
        from: Timestamp,
        began: Timestamp,
        was: &Self,
        overlap: SignedDuration,
    ) {
        let whole = from <= was.unsettled_from(overlap);
        self.open = !whole || began < self.settles_at(overlap);
        self.settled_to = if whole { None } else { was.settled_to.or(Some(was.read_to)) };
        let next_from = self.unsettled_from(overlap);
        self.near.retain(|_, written| *written > next_from);
    }

    /// Remembers a message that is delivered, and the stamp of one that was edited or deleted.
    pub(super) fn note_delivered(&mut self, message_id: &str, stamp: &str, written: Option<Timestamp>) {
        self.note_near(message_id, written);
        if !stamp.is_empty() {
            // Of the others, the journal's keys tell.
            remember(&mut self.recent, message_id, stamp.to_owned());
        }
    }

    /// Remembers that a message was delivered, as long as readings come over it.
    pub(super) fn note_near(&mut self, message_id: &str, written: Option<Timestamp>) {
        if let Some(written) = written {
            remember(&mut self.near, message_id, written);
        }
    }

    /// Remembers a message that is not delivered.
    pub(super) fn note_passed(&mut self, message_id: &str, stamp: &str) {
        remember(&mut self.passed, message_id, stamp.to_owned());
    }
}

fn remember<T>(messages: &mut BTreeMap<String, T>, message_id: &str, what: T) {
    messages.insert(message_id.to_owned(), what);
    while messages.len() > RECENT_MAX {
        // Message ids are times, so the first is the oldest.
        messages.pop_first();
    }
}

/// A position for chats that another server has read up to some moment each; what is newer is news, also in chats that
/// are not among them when it is newer than all of these. `None` without chats.
pub fn position(chats: BTreeMap<String, Timestamp>) -> Option<Vec<u8>> {
    let (oldest, newest) = (chats.values().min().copied()?, chats.values().max().copied()?);
    let mut cursor = Cursor { watermark: oldest, ..Cursor::starting_at(newest) };
    cursor.chats = chats.into_iter().map(|(id, at)| (id, ChatCursor::from_floor(at))).collect();
    position::to_bytes(&cursor).ok()
}

impl Position for Cursor {
    const FILE: &'static str = CURSOR_FILE;
    const BROKEN_FILE: &'static str = "sources/teams.json.broken";
    const BYTES_MAX: u64 = CURSOR_BYTES_MAX;
    const CHANNEL: Channel = Channel::Teams;
    const SAFE_POINT_BEFORE: SignedDuration = SignedDuration::from_mins(10);

    fn starting_at(since: Timestamp) -> Self {
        Self { v: POSITION_VERSION, since, watermark: since, ..Self::default() }
    }

    fn version(&self) -> u32 {
        self.v
    }

    fn first_start(&mut self) -> &mut Option<Timestamp> {
        &mut self.first_start
    }
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
            next.note_read_from(at(from), at(1_000), was, overlap);
            next
        };
        let prompt = read(95, 200, &start);
        assert_eq!(prompt.unsettled_from(overlap), at(70));
        let prompt = read(195, 300, &prompt);
        assert_eq!(prompt.unsettled_from(overlap), at(70), "a second one forgets nothing");
        let whole = read(70, 300, &prompt);
        assert_eq!(whole.unsettled_from(overlap), at(270));
        assert!(prompt.open && !whole.open, "what was left out may hold something");
    }

    /// Graph may show a message only after a newer one: until its time is over, a chat is not done with.
    #[test]
    fn a_chat_is_open_until_nothing_can_turn_up_late() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let overlap = SignedDuration::from_secs(30);
        let was = ChatCursor::from_floor(at(0));
        let mut chat = ChatCursor { read_to: at(100), ..was.clone() };
        for (began, open) in [(101, true), (131, true), (132, false), (9_000, false)] {
            chat.note_read_from(at(0), at(began), &was, overlap);
            assert_eq!(chat.open, open, "{began}");
        }
        chat.note_read_from(at(0), at(101), &was, overlap);
        let kept: ChatCursor = serde_json::from_value(serde_json::to_value(&chat).unwrap()).unwrap();
        assert!(kept.open, "also after a restart");
        let strange = ChatCursor { read_to: Timestamp::MAX, ..was };
        assert_eq!(strange.settles_at(overlap), Timestamp::MAX);
    }

    #[test]
    fn delivered_messages_are_remembered_up_to_a_bound() {
        let mut chat = ChatCursor::from_floor(Timestamp::UNIX_EPOCH);
        for n in 0..RECENT_MAX + 5 {
            let written = Timestamp::from_second(i64::try_from(n).unwrap()).unwrap();
            chat.note_delivered(&format!("{n:03}"), "edited", Some(written));
        }
        assert_eq!((chat.recent.len(), chat.near.len()), (RECENT_MAX, RECENT_MAX));
        assert!(!chat.recent.contains_key("004") && chat.recent.contains_key("005"));
        assert!(!chat.near.contains_key("004") && chat.near.contains_key("005"));
        let was = chat.clone();
        chat.read_to = Timestamp::from_second(60).unwrap();
        chat.note_read_from(was.floor, Timestamp::MAX, &was, SignedDuration::from_secs(30));
        assert_eq!(
            chat.near.keys().map(String::as_str).collect::<Vec<_>>(),
            ["031", "032", "033", "034", "035", "036"]
        );
    }
}
