//! The newest records in memory, so that a waiting call is answered without touching the disk.

use std::collections::VecDeque;
use std::sync::Arc;

use super::log::Entry;
use crate::record::Channel;

/// A bounded sequence of the newest records, without gaps in time.
#[derive(Debug)]
pub(super) struct Window {
    entries: VecDeque<Arc<Entry>>,
    messages_max: usize,
}

impl Window {
    /// A window of at most `messages_max` records.
    pub(super) fn new(entries: Vec<Arc<Entry>>, messages_max: usize) -> Self {
        Self { entries: entries.into(), messages_max: messages_max.max(1) }
    }

    /// Adds the newest record; returns the record that had to leave.
    pub(super) fn push(&mut self, entry: Arc<Entry>) -> Option<Arc<Entry>> {
        self.entries.push_back(entry);
        if self.entries.len() > self.messages_max { self.entries.pop_front() } else { None }
    }

    /// Forgets the records up to a place.
    pub(super) fn forget_through(&mut self, seq: u64) {
        while self.entries.front().is_some_and(|entry| entry.record.seq <= seq) {
            self.entries.pop_front();
        }
    }

    /// Forgets the records whose place is one of those that are gone.
    pub(super) fn forget_all(&mut self, is_gone: impl Fn(u64) -> bool) {
        self.entries.retain(|entry| !is_gone(entry.record.seq));
    }

    /// Forgets the records after a place.
    pub(super) fn forget_after(&mut self, seq: u64) {
        while self.entries.back().is_some_and(|entry| entry.record.seq > seq) {
            self.entries.pop_back();
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn newest(&self) -> Option<&Arc<Entry>> {
        self.entries.back()
    }

    /// Whether every record after `seq` is in the window.
    pub(super) fn reaches(&self, seq: u64) -> bool {
        self.entries.front().is_some_and(|first| first.record.seq <= seq.saturating_add(1))
    }

    /// The records after `seq`.
    pub(super) fn after(&self, seq: u64) -> impl DoubleEndedIterator<Item = &Arc<Entry>> {
        let from = self.entries.partition_point(|entry| entry.record.seq <= seq);
        self.entries.range(from..)
    }

    /// How many records of a channel come after `seq`.
    pub(super) fn count_after(&self, channel: Channel, seq: u64) -> u64 {
        self.after(seq).filter(|entry| entry.record.channel == channel).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn window(seqs: std::ops::RangeInclusive<u64>) -> Window {
        let entry = |seq: u64| {
            let record = json!({
                "v": 1, "seq": seq, "key": format!("teams/{seq}"), "id": seq.to_string(),
                "received_at": "2026-11-21T12:00:00Z", "channel": "teams", "chat_id": "chat", "from": "Alice",
                "ts": "2026-11-21T12:00:00Z", "content_text_sanitized": "hello", "meta": {}, "edit_of": null,
                "consumed_by": []
            });
            Arc::new(Entry { record: serde_json::from_value(record).unwrap(), prev: seq - 1 })
        };
        Window::new(seqs.map(entry).collect(), 10)
    }

    fn places(window: &Window) -> Vec<u64> {
        window.after(0).map(|entry| entry.record.seq).collect()
    }

    #[test]
    fn the_record_at_the_place_itself_stays_only_where_what_is_after_it_goes() {
        let mut one = window(1..=4);
        one.forget_after(2);
        assert_eq!(places(&one), [1, 2]);
        one.forget_after(2);
        assert_eq!(places(&one), [1, 2]);
        let mut other = window(1..=4);
        other.forget_through(2);
        assert_eq!(places(&other), [3, 4]);
    }
}
