//! Limits how many mails may leave in an hour, so that two machines can't write to each other for ever.
//! It must never forget a conversation that was answered within the hour.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How many conversations are counted; when all are in use, nothing more is sent until one of them is free
/// again.
const CONVERSATIONS_MAX: usize = 500;
const WINDOW: Duration = Duration::from_secs(3_600);

/// Counts the sent mails by conversation or address.
#[derive(Debug)]
pub struct Quota {
    per_hour: usize,
    sent: Mutex<BTreeMap<String, VecDeque<Instant>>>,
}

impl Quota {
    /// Allows `per_hour` mails an hour for each name.
    pub fn new(per_hour: u32) -> Self {
        Self { per_hour: usize::try_from(per_hour).unwrap_or(usize::MAX), sent: Mutex::default() }
    }

    /// Uses one mail of the quota of `name`; `false` when none is left.
    pub(super) fn take(&self, name: &str, now: Instant) -> bool {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.retain(|_, times| {
            times.retain(|at| now.duration_since(*at) < WINDOW);
            !times.is_empty()
        });
        if !sent.contains_key(name) && sent.len() >= CONVERSATIONS_MAX {
            return false;
        }
        let times = sent.entry(name.to_owned()).or_default();
        let free = times.len() < self.per_hour;
        if free {
            times.push_back(now);
        }
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_hour_has_a_limited_number_of_mails() {
        let (quota, now) = (Quota::new(2), Instant::now());
        assert!(quota.take("a", now) && quota.take("a", now + WINDOW / 2));
        assert!(!quota.take("a", now + WINDOW / 2) && quota.take("b", now));
        assert!(quota.take("a", now + WINDOW));
        assert!(!quota.take("a", now + WINDOW));
    }

    #[tokio::test(start_paused = true)]
    async fn conversations_are_bounded() {
        let (quota, now) = (Quota::new(1), Instant::now());
        for n in 0..CONVERSATIONS_MAX {
            assert!(quota.take(&n.to_string(), now));
        }
        assert!(!quota.take("one more", now) && quota.take("one more", now + WINDOW));
    }
}
