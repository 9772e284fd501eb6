//! Limits how fast requests follow each other: about one a second for each chat, and all together within a
//! budget.
//! A throttled chat must never slow another one down.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Graph allows one request a second for a chat, reads and writes together; a tenth more keeps below that
/// limit.
pub const CHAT_SPACING: Duration = Duration::from_millis(1_100);
/// This is below Graph's limit of 20 requests a second for an app in a tenant.
pub const REQUESTS_PER_SECOND_MAX: u32 = 15;
/// How many requests may be made at once after a pause.
const BURST_REQUESTS_MAX: u32 = 15;
/// How many chats are remembered; chats without a pending limit are forgotten first.
const CHATS_MAX: usize = 1_024;

/// The limit that a request counts against besides the common budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope<'a> {
    /// The limit of one chat.
    Chat(&'a str),
    /// The limit of the agent's mailbox.
    Mailbox,
    /// No further limit.
    Common,
}

/// Reserves the times at which requests may be made.
#[derive(Debug)]
pub(super) struct Pace {
    chat_spacing: Duration,
    booked: Mutex<Booked>,
}

#[derive(Debug, Default)]
struct Booked {
    chats: BTreeMap<String, Instant>,
    /// No request is made for the mailbox until then.
    mailbox: Option<Instant>,
    /// When the whole budget is available again.
    budget: Option<Instant>,
}

impl Pace {
    /// A pace with `chat_spacing` between two requests for one chat.
    pub(super) fn new(chat_spacing: Duration) -> Self {
        Self { chat_spacing, booked: Mutex::default() }
    }

    /// Reserves the next free time for a request; the caller waits for it.
    pub(super) fn book(&self, scope: Scope<'_>, now: Instant) -> Instant {
        let mut booked = self.booked.lock().unwrap_or_else(PoisonError::into_inner);
        let interval = Duration::from_secs(1) / REQUESTS_PER_SECOND_MAX;
        let budget = booked.budget.map_or(now, |at| at.max(now));
        booked.budget = Some(budget + interval);
        let mut at = now.max(budget.checked_sub(interval * (BURST_REQUESTS_MAX - 1)).unwrap_or(now));
        if scope == Scope::Mailbox {
            at = at.max(booked.mailbox.unwrap_or(now));
        }
        if let Scope::Chat(chat) = scope {
            at = at.max(booked.chats.get(chat).copied().unwrap_or(now));
            if booked.chats.len() >= CHATS_MAX {
                booked.chats.retain(|_, free| *free > now);
            }
            booked.chats.insert(chat.to_owned(), at + self.chat_spacing);
        }
        at
    }

    /// Makes no request for a chat or the mailbox until `until`, because the server said so.
    pub(super) fn hold(&self, scope: Scope<'_>, until: Instant) {
        let mut booked = self.booked.lock().unwrap_or_else(PoisonError::into_inner);
        match scope {
            Scope::Chat(chat) => {
                let free = booked.chats.entry(chat.to_owned()).or_insert(until);
                *free = (*free).max(until);
            }
            Scope::Mailbox => booked.mailbox = booked.mailbox.max(Some(until)),
            Scope::Common => {}
        }
    }

    /// When a request for this chat can be made.
    pub(super) fn free_at(&self, chat: &str) -> Option<Instant> {
        self.booked.lock().unwrap_or_else(PoisonError::into_inner).chats.get(chat).copied()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_chat_is_spaced_and_others_are_not() {
        let (pace, now) = (Pace::new(CHAT_SPACING), Instant::now());
        assert_eq!(pace.book(Scope::Chat("a"), now), now);
        assert_eq!(pace.book(Scope::Chat("a"), now), now + CHAT_SPACING);
        assert_eq!(pace.book(Scope::Chat("b"), now), now);
        pace.hold(Scope::Chat("a"), now + Duration::from_secs(30));
        assert_eq!(pace.book(Scope::Chat("a"), now), now + Duration::from_secs(30));
        assert_eq!(pace.book(Scope::Chat("b"), now), now + CHAT_SPACING);
        assert_eq!(pace.book(Scope::Common, now), now);
        pace.hold(Scope::Mailbox, now + Duration::from_secs(9));
        assert_eq!(pace.book(Scope::Mailbox, now), now + Duration::from_secs(9));
        assert_eq!(pace.book(Scope::Common, now), now);
    }

    #[tokio::test(start_paused = true)]
    async fn the_budget_allows_a_burst_and_then_a_rate() {
        let (pace, now) = (Pace::new(CHAT_SPACING), Instant::now());
        let at: Vec<_> = (0..60).map(|_| pace.book(Scope::Common, now) - now).collect();
        assert_eq!(at[14], Duration::ZERO);
        assert!(at[15] > Duration::ZERO);
        assert_eq!(at[59].as_millis(), 2_999);
        assert_eq!(pace.book(Scope::Common, now + Duration::from_secs(60)), now + Duration::from_secs(60));
    }

    #[tokio::test(start_paused = true)]
    async fn the_list_of_chats_is_bounded() {
        let (pace, now) = (Pace::new(CHAT_SPACING), Instant::now());
        for chat in 0..5_000_u64 {
            pace.book(Scope::Chat(&chat.to_string()), now + Duration::from_secs(chat * 2));
        }
        assert!(pace.booked.lock().unwrap().chats.len() <= CHATS_MAX);
    }
}
