//! Writes refusals to the logs; the interaction log gets only some of them, so that a stranger can't fill the
//! disk. It must never hold more than ids.

use std::collections::BTreeSet;
use std::fmt::Display;

use jiff::{SignedDuration, Timestamp};

use super::Reason;
use crate::journal::{self, Interaction, InteractionKind, Journal};
use crate::record::Channel;

/// The most different refusals that are written in one hour, and that are remembered.
pub const REFUSALS_PER_HOUR_MAX: usize = 100;
const WINDOW: SignedDuration = SignedDuration::from_hours(1);

/// A message that was refused.
#[derive(Debug)]
pub struct Refusal<'a, R = Reason> {
    /// The channel that the message came from.
    pub channel: Channel,
    /// The message's conversation.
    pub chat_id: &'a str,
    /// The message's id.
    pub id: &'a str,
    /// The author, as the interaction log may name them.
    pub who: Option<String>,
    /// The reason for the refusal.
    pub reason: R,
}

/// Remembers for an hour which refusals were written.
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

impl<R: Ord + Display> Refusals<R> {
    /// Writes a refusal to the log, and to the interaction log too if it is worth a line there.
    pub fn write(&mut self, journal: &Journal, refusal: Refusal<'_, R>, now: Timestamp) {
        let Refusal { channel, chat_id, id, who, reason } = refusal;
        let said = reason.to_string();
        journal::refused(channel, id, &said);
        let Some(unwritten) = self.note(chat_id, who.as_deref().unwrap_or_default(), reason, now) else {
            return;
        };
        let detail = match unwritten {
            0 => said,
            _ => format!("{said}; {unwritten} refusals before it were not written"),
        };
        journal.interaction(Interaction {
            channel: Some(channel),
            chat_id: Some(chat_id.to_owned()),
            id: Some(id.to_owned()),
            who,
            ..Interaction::new(InteractionKind::Refused).detail(detail)
        });
    }

    /// How many refusals were left out before this one; `None` if this one is left out too.
    fn note(&mut self, chat_id: &str, who: &str, reason: R, now: Timestamp) -> Option<u64> {
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
