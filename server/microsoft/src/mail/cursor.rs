//! The position up to which the inbox has been read: `sources/mail.json`.
//! It must never be fatal: a broken file is kept aside, and reading starts again from a safe point, not from
//! nothing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use entraclaw_inbox::record::Channel;
use entraclaw_inbox::source::position::{self, POSITION_VERSION, Position};

/// The cursor's file in the home folder.
pub const CURSOR_FILE: &str = "sources/mail.json";
/// The largest cursor that is read.
const CURSOR_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// How many marks of handled mails are kept, two for each mail; the oldest are forgotten first.
pub(super) const SEEN_MAX: usize = 8_192;
/// The most mails that can wait to be read again.
pub(super) const PENDING_MAX: usize = 1_000;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cursor {
    /// Version of this format; 1.
    pub(super) v: u32,
    /// Mails that were received before this time are history.
    pub(super) since: Timestamp,
    /// The time of the first start by this machine's clock, kept until Graph has answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) first_start: Option<Timestamp>,
    /// The newest time of receipt among the handled mails.
    pub(super) read_to: Timestamp,
    /// Graph's link to the next page; absent before the first page and after a reset.
    #[serde(default)]
    pub(super) link: Option<String>,
    /// When the link's series began; Graph limits how many mails a series with a filter holds.
    #[serde(default)]
    pub(super) begun: Option<Timestamp>,
    /// Mails that are known and could not be read yet, with the time of the first attempt.
    #[serde(default)]
    pub(super) pending: BTreeMap<String, Timestamp>,
    /// The time of the last loss of journal files for which the inbox was read again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) losses_done: Option<Timestamp>,
    /// For mails received from this time on, the journal decides which are news, until all of them were read
    /// again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) again_from: Option<Timestamp>,
    /// Mails that were handled.
    #[serde(default)]
    pub(super) seen: Seen,
}

impl Cursor {
    /// Has every mail received after `from` read again; the journal decides which of them are news.
    pub(super) fn go_back_to(&mut self, from: Timestamp) {
        let from = from.max(self.since);
        self.link = None;
        self.read_to = self.read_to.min(from);
        self.again_from = Some(self.again_from.map_or(from, |before| before.min(from)));
    }

    /// Whether a mail received at this time is read again.
    pub(super) fn is_again(&self, received: Option<Timestamp>) -> bool {
        self.again_from.is_some_and(|from| received.is_none_or(|at| at >= from))
    }
}

/// The position for an inbox that another server has read up to `since`.
pub fn position(since: Timestamp) -> Option<Vec<u8>> {
    position::to_bytes(&Cursor::starting_at(since)).ok()
}

/// A set of marks that forgets its oldest when it is full. Marks are hashes, because senders choose some of
/// the ids.
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
    /// Whether the mail with this id or key was handled.
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
    const MARK_BYTES: usize = 12;
    entraclaw_seams::hex::of(&Sha256::digest(what.as_bytes())[..MARK_BYTES])
}

impl Position for Cursor {
    const FILE: &'static str = CURSOR_FILE;
    const BROKEN_FILE: &'static str = "sources/mail.json.broken";
    const BYTES_MAX: u64 = CURSOR_BYTES_MAX;
    const CHANNEL: Channel = Channel::Email;
    const SAFE_POINT_BEFORE: SignedDuration = SignedDuration::from_hours(1);

    fn starting_at(since: Timestamp) -> Self {
        Self { v: POSITION_VERSION, since, read_to: since, ..Self::default() }
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
