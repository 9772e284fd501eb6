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
/// How many requests may be made at once after a pause. With those of the second that follows they stay below
/// that limit.
const BURST_REQUESTS_MAX: u32 = 4;
/// The time between two requests in the long run.
const INTERVAL: Duration = Duration::from_nanos(1_000_000_000 / REQUESTS_PER_SECOND_MAX as u64);
/// How long no request at all is made when several chats are throttled together.
const SHARED_HOLD: Duration = Duration::from_secs(2);
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
    /// The chat that was throttled last, and until when.
    throttled: Option<(String, Instant)>,
}

impl Pace {
    /// A pace with `chat_spacing` between two requests for one chat.
    pub(super) fn new(chat_spacing: Duration) -> Self {
        Self { chat_spacing, booked: Mutex::default() }
    }

    /// Reserves the next free time for a request; the caller waits for it.
    pub(super) fn book(&self, scope: Scope<'_>, now: Instant) -> Instant {
        let mut booked = self.booked.lock().unwrap_or_else(PoisonError::into_inner);
        let budget = booked.budget.map_or(now, |at| at.max(now));
        booked.budget = Some(budget + INTERVAL);
        let mut at = now.max(budget.checked_sub(INTERVAL * (BURST_REQUESTS_MAX - 1)).unwrap_or(now));
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
                let now = Instant::now();
                let others = booked.throttled.as_ref().filter(|(other, until)| other != chat && *until > now);
                if others.is_some() {
                    // It may be the limit of all chats together. Graph counts refused requests too, so that
                    // requests which go on would keep all chats throttled for ever.
                    let burst_at = until.min(now + SHARED_HOLD) + INTERVAL * (BURST_REQUESTS_MAX - 1);
                    booked.budget = booked.budget.max(Some(burst_at));
                }
                booked.throttled = Some((chat.to_owned(), until));
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

    const SECOND: Duration = Duration::from_secs(1);
    /// Graph's limit for reading messages of all chats.
    const GRAPH_PER_SECOND_MAX: usize = 20;

    #[tokio::test(start_paused = true)]
    async fn one_chat_is_spaced_and_others_are_not() {
        let (pace, now) = (Pace::new(CHAT_SPACING), Instant::now());
        assert_eq!(pace.book(Scope::Chat("a"), now), now);
        assert_eq!(pace.book(Scope::Chat("a"), now), now + CHAT_SPACING);
        assert_eq!(pace.book(Scope::Chat("b"), now), now);
        pace.hold(Scope::Chat("a"), now + Duration::from_secs(30));
        assert_eq!(pace.book(Scope::Chat("a"), now), now + Duration::from_secs(30));
        assert_eq!(pace.book(Scope::Chat("b"), now), now + CHAT_SPACING);
        // The budget of all requests is whole again by then.
        let now = now + SECOND;
        assert_eq!(pace.book(Scope::Common, now), now);
        pace.hold(Scope::Mailbox, now + Duration::from_secs(9));
        assert_eq!(pace.book(Scope::Mailbox, now), now + Duration::from_secs(9));
        assert_eq!(pace.book(Scope::Common, now), now);
    }

    #[tokio::test(start_paused = true)]
    async fn the_budget_allows_a_burst_and_then_a_rate() {
        let (pace, now) = (Pace::new(CHAT_SPACING), Instant::now());
        let at: Vec<_> = (0..60).map(|_| pace.book(Scope::Common, now) - now).collect();
        assert_eq!(at[3], Duration::ZERO);
        assert!(at[4] > Duration::ZERO);
        assert_eq!(at[59].as_millis(), 3_733);
        let most =
            at.iter().map(|from| at.iter().filter(|t| (*from..*from + SECOND).contains(t)).count()).max();
        assert!(most < Some(GRAPH_PER_SECOND_MAX), "{most:?} in one second");
        assert_eq!(pace.book(Scope::Common, now + Duration::from_secs(60)), now + Duration::from_secs(60));
    }

    #[tokio::test(start_paused = true)]
    async fn several_throttled_chats_make_all_requests_wait_shortly() {
        let (pace, now) = (Pace::new(CHAT_SPACING), Instant::now());
        let minute = now + Duration::from_secs(60);
        pace.hold(Scope::Chat("a"), minute);
        pace.hold(Scope::Chat("a"), minute);
        assert_eq!(pace.book(Scope::Chat("c"), now), now, "one chat holds up no other one");
        pace.hold(Scope::Chat("b"), minute);
        assert_eq!(pace.book(Scope::Chat("d"), now), now + SHARED_HOLD);
        assert_eq!(pace.book(Scope::Chat("a"), now), minute);
    }

    #[tokio::test(start_paused = true)]
    async fn a_chat_that_was_throttled_long_ago_is_no_sign_of_a_common_limit() {
        let pace = Pace::new(CHAT_SPACING);
        pace.hold(Scope::Chat("a"), Instant::now() + SECOND);
        tokio::time::sleep(SECOND).await;
        let now = Instant::now();
        pace.hold(Scope::Chat("b"), now + SECOND);
        assert_eq!(pace.book(Scope::Chat("c"), now), now);
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
