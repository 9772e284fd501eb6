//! How far Teams has been read: `sources/teams.json`.
//! A broken file must never stop the server: it is kept aside, and reading starts again from a safe point.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use entraclaw_inbox::record::Channel;
use entraclaw_inbox::source::position::{self, POSITION_VERSION, Position};

/// The file that holds the cursor.
pub const CURSOR_FILE: &str = "sources/teams.json";
/// The largest cursor that is read.
const CURSOR_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// The most chats whose position is kept. The chats that were silent longest are forgotten first. That is
/// safe: such a chat comes back as a new one, and its older messages count as history.
pub(super) const CHATS_MAX: usize = 1_000;
/// The most messages that each memory of a chat holds: the delivered edits and deletions, the messages
/// delivered lately, and those judged and not delivered.
pub(super) const RECENT_MAX: usize = 32;

/// The whole position.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cursor {
    /// Version of this shape; 1.
    pub(super) v: u32,
    /// Messages that were written before this are history and are not delivered.
    pub(super) since: Timestamp,
    /// The time of the first start by this machine's clock, as long as Graph has not answered yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) first_start: Option<Timestamp>,
    /// The newest preview time that the list has shown. A chat that turns up later has no news before it.
    pub(super) watermark: Timestamp,
    /// Whether the list was once read to its end. A chat that is not in `chats` then did not exist at that
    /// time.
    #[serde(default)]
    pub(super) all_known: bool,
    /// The time of the oldest message that the list has shown and that is still unread, or of the oldest open
    /// chat.
    #[serde(default)]
    pub(super) behind: Option<Timestamp>,
    /// When the journal noticed the last loss of its files for which Teams was read again.
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
    /// Every message that changed up to here, and was visible at the reading, has been read.
    pub(super) read_to: Timestamp,
    /// Up to here, messages that turn up late have been looked for as well. Without a value, that is up to
    /// `read_to`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) settled_to: Option<Timestamp>,
    /// A message older than `read_to` may still turn up, and no reading has looked for it yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) open: bool,
    /// The preview that was read; empty before the first read.
    #[serde(default)]
    pub(super) print: String,
    /// Messages whose edit or deletion was delivered, with its stamp. The journal knows the messages that
    /// were delivered as they were written.
    #[serde(default)]
    pub(super) recent: BTreeMap<String, String>,
    /// Delivered messages that the next reading meets again, with the time of writing. They are kept here
    /// because the journal forgets its keys with its days, and a chat may be silent for longer.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) near: BTreeMap<String, Timestamp>,
    /// Messages that were judged and not delivered, with the stamp that they had. They are read again for a
    /// while. They must not be logged again, nor delivered because their author has been let in since.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) passed: BTreeMap<String, String>,
}

/// How far Graph's clock may differ from the dates of its answers, which have whole seconds.
const CLOCK_MARGIN: SignedDuration = SignedDuration::from_secs(2);

impl Cursor {
    /// Makes the next readings read all messages written after `from` once more. The journal tells which are
    /// news.
    pub(super) fn go_back_to(&mut self, from: Timestamp) {
        let from = from.max(self.since);
        for chat in self.chats.values_mut().filter(|chat| chat.read_to > from) {
            chat.go_back_to(from);
        }
        self.behind = Some(self.behind.map_or(from, |behind| behind.min(from)));
    }

    /// Forgets the chats that were read longest ago, except those that `needed` names.
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

    /// See [`Cursor::go_back_to`]. A refused message stays refused.
    fn go_back_to(&mut self, from: Timestamp) {
        self.read_to = self.floor.max(from);
        self.settled_to = None;
        self.open = true;
        self.print.clear();
        self.recent.clear();
        self.near.clear();
    }

    /// Whether any message was read there.
    pub(super) fn was_active(&self) -> bool {
        self.read_to > self.floor
    }

    /// The time from which a reading has to start so that it leaves nothing out.
    pub(super) fn unsettled_from(&self, overlap: SignedDuration) -> Timestamp {
        let settled_to = self.settled_to.unwrap_or(self.read_to).min(self.read_to);
        settled_to.checked_sub(overlap).unwrap_or(settled_to).max(self.floor)
    }

    /// The moment, by Graph's clock, from which a reading finds every message that turned up late.
    pub(super) fn settles_at(&self, overlap: SignedDuration) -> Timestamp {
        let overlap = overlap.saturating_add(CLOCK_MARGIN);
        self.read_to.checked_add(overlap).unwrap_or(Timestamp::MAX)
    }

    /// Remembers that a reading which began at `began` by Graph's clock went back to `from`.
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
            // The journal's keys tell whether the others were delivered.
            remember(&mut self.recent, message_id, stamp.to_owned());
        }
    }

    /// Remembers that a message was delivered, as long as readings meet it again.
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

/// Builds a position for chats that another server has read, each up to its own moment. Newer messages are
/// news. In other chats, messages are news when they are newer than all of these moments. `None` without
/// chats.
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

    /// Graph may show a message later than a newer one, so a chat stays open for a while.
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
