//! Which refusals are worth a line in the interaction log, so that a stranger can't fill the disk.
//! It must never hold more than ids.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::Reason;

/// Different refusals that are written in one hour; also how many are remembered.
pub const REFUSALS_PER_HOUR_MAX: usize = 100;
const WINDOW: SignedDuration = SignedDuration::from_hours(1);

/// Remembers for an hour what has been written.
#[derive(Debug)]
pub struct Refusals<R = Reason> {
    window: Option<Timestamp>,
    written: BTreeSet<(String, String, R)>,
    suppressed: u64,
}

impl<R> Default for Refusals<R> {
    fn default() -> Self {
        Self { window: None, written: BTreeSet::new(), suppressed: 0 }
    }
}

impl<R: Ord> Refusals<R> {
    /// Whether to write a refusal of this sender in this chat, and how many were not written before it.
    pub fn note(&mut self, chat_id: &str, who: &str, reason: R, now: Timestamp) -> Option<u64> {
        if self.window.is_none_or(|start| now.duration_since(start) >= WINDOW || now < start) {
            self.window = Some(now);
            self.written.clear();
        }
        let key = (chat_id.to_owned(), who.to_owned(), reason);
        if self.written.len() >= REFUSALS_PER_HOUR_MAX || self.written.contains(&key) {
            self.suppressed += 1;
            return None;
        }
        self.written.insert(key);
        Some(std::mem::take(&mut self.suppressed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stranger_gets_one_line_an_hour_and_a_crowd_gets_a_bound() {
        let start: Timestamp = "2026-11-21T10:00:00Z".parse().unwrap();
        let mut refusals = Refusals::default();
        assert_eq!(refusals.note("c", "mallory", Reason::NotListed, start), Some(0));
        for _ in 0..1_000 {
            assert_eq!(refusals.note("c", "mallory", Reason::NotListed, start), None);
        }
        assert_eq!(refusals.note("c", "mallory", Reason::NoTenantId, start), Some(1_000));
        let written =
            (0..1_000).filter(|i| refusals.note("c", &i.to_string(), Reason::NotListed, start).is_some());
        assert_eq!(written.count(), REFUSALS_PER_HOUR_MAX - 2);
        let later = start + SignedDuration::from_mins(61);
        assert!(refusals.note("c", "mallory", Reason::NotListed, later).unwrap() > 0);
    }
}
