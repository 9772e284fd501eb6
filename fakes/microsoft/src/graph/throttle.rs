//! Request limits: sliding windows that count every call, including the refused ones.
//! A verdict must never depend on anything but the instants of the calls.

use std::collections::{BTreeMap, VecDeque};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::moment::{self, Ms};
use super::route::Operation;
use super::rules::RuleId;

/// How many calls are remembered for one window; more can't change a verdict.
const WINDOW_CALLS_MAX: usize = 10_240;

/// How the fake limits its callers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ThrottleSpec {
    /// Removes all limits.
    pub off: bool,
    /// The form of `Retry-After`.
    pub retry_after: RetryAfterForm,
    /// The seconds in `Retry-After`; absent means the wait that the window needs.
    pub retry_after_s: Option<u32>,
}

/// The form of `Retry-After`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RetryAfterForm {
    /// A number of seconds.
    #[default]
    Seconds,
    /// An HTTP date.
    HttpDate,
    /// No header at all.
    Missing,
}

impl RetryAfterForm {
    /// The header's value, if it is sent. `clock_ms` is the service's clock.
    pub(super) fn value(self, seconds: u32, clock_ms: Ms) -> Option<String> {
        match self {
            Self::Seconds => Some(seconds.to_string()),
            // A date has no milliseconds, so it is rounded up; a wait until then is always enough.
            Self::HttpDate => {
                let until = clock_ms.saturating_add(i64::from(seconds) * 1000).saturating_add(999);
                Some(moment::http_date(until))
            }
            Self::Missing => None,
        }
    }
}

/// The calls that one limit counts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bucket {
    /// All calls on one chat, by id.
    Chat(String),
    /// Membership changes of one chat, by id.
    Members(String),
    /// Reads of messages in all chats.
    MessageReads,
    /// Writes of messages in all chats.
    MessageWrites,
    /// Calls that list chats or get one chat.
    UserChats,
    /// All calls on the mailbox.
    Mailbox,
    /// All other calls.
    Other,
}

impl Bucket {
    fn limit(&self) -> (usize, Ms, RuleId) {
        match self {
            Self::Chat(_) => (1, 1000, RuleId::ThrottleChat),
            Self::Members(_) => (4, 60_000, RuleId::ThrottleMembers),
            Self::MessageReads => (20, 1000, RuleId::ThrottleGet),
            Self::MessageWrites => (20, 1000, RuleId::ThrottlePost),
            Self::UserChats => (5, 1000, RuleId::ThrottleUser),
            Self::Mailbox => (10_000, 600_000, RuleId::ThrottleMailbox),
            Self::Other => (30, 1000, RuleId::ThrottleOther),
        }
    }

    /// The buckets that count an operation, the narrowest first.
    pub(super) fn of(operation: Operation, chat: Option<&str>) -> Vec<Self> {
        let mut buckets: Vec<Self> = chat.map(|id| Self::Chat(id.to_owned())).into_iter().collect();
        match operation {
            Operation::ListChats | Operation::GetChat => buckets.push(Self::UserChats),
            Operation::HostedContent
            | Operation::ListMessages
            | Operation::GetMessage
            | Operation::ChatDelta => {
                buckets.push(Self::MessageReads);
            }
            Operation::SendMessage
            | Operation::ReplyWithQuote
            | Operation::EditMessage
            | Operation::SoftDelete
            | Operation::React => buckets.push(Self::MessageWrites),
            Operation::AddMember => {
                buckets.extend(chat.map(|id| Self::Members(id.to_owned())));
                buckets.push(Self::Other);
            }
            _ if operation.is_of_mail() => buckets.push(Self::Mailbox),
            _ => buckets.push(Self::Other),
        }
        buckets
    }
}

#[derive(Debug, Clone, Default)]
struct Window {
    calls: VecDeque<Ms>,
    hold_until_ms: Option<Ms>,
}

/// A refused call, with the wait that the caller is told.
#[derive(Debug, Clone)]
pub(super) struct Refusal {
    pub(super) bucket: Bucket,
    pub(super) rule: RuleId,
    pub(super) wait_s: u32,
    /// The instant until which the caller had been told to wait, if it had been.
    pub(super) told_until_ms: Option<Ms>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Throttle {
    pub(super) spec: ThrottleSpec,
    windows: BTreeMap<Bucket, Window>,
}

impl Throttle {
    /// Counts and refuses a call that comes although its caller was told to wait.
    pub(super) fn early(&mut self, buckets: &[Bucket], now_ms: Ms) -> Option<Refusal> {
        let held = |bucket: &Bucket| self.windows.get(bucket).and_then(|w| w.hold_until_ms) > Some(now_ms);
        if buckets.iter().any(held) { self.count(buckets, now_ms).err() } else { None }
    }

    /// Counts a call in all its buckets and refuses it when one is full or on hold.
    pub(super) fn count(&mut self, buckets: &[Bucket], now_ms: Ms) -> Result<(), Refusal> {
        let mut refusal: Option<Refusal> = None;
        for bucket in buckets {
            let (limit, span_ms, rule) = bucket.limit();
            let window = self.windows.entry(bucket.clone()).or_default();
            let told_until_ms = window.hold_until_ms.filter(|until| now_ms < *until);
            if told_until_ms.is_none() {
                window.hold_until_ms = None;
            }
            let full = !self.spec.off && window.count(now_ms, limit, span_ms);
            if !full && told_until_ms.is_none() {
                continue;
            }
            let free_ms = if full { window.free_after_ms(now_ms, limit, span_ms) } else { 0 };
            let told_ms = told_until_ms.map_or(0, |until| until - now_ms);
            let wait_s = u32::try_from((free_ms.max(told_ms).max(1) + 999) / 1000).unwrap_or(u32::MAX);
            let wait_s = self.spec.retry_after_s.filter(|_| told_until_ms.is_none()).unwrap_or(wait_s);
            if refusal.as_ref().is_none_or(|first| first.wait_s < wait_s) {
                refusal = Some(Refusal { bucket: bucket.clone(), rule, wait_s, told_until_ms });
            }
        }
        refusal.map_or(Ok(()), Err)
    }

    /// Remembers that a caller was told to make no call in a bucket until `until_ms`.
    pub(super) fn hold(&mut self, bucket: &Bucket, until_ms: Ms) {
        let window = self.windows.entry(bucket.clone()).or_default();
        window.hold_until_ms = Some(window.hold_until_ms.map_or(until_ms, |old| old.max(until_ms)));
    }
}

impl Window {
    /// Adds a call, and returns whether it is over the limit.
    fn count(&mut self, now_ms: Ms, limit: usize, span_ms: Ms) -> bool {
        while self.calls.front().is_some_and(|first| *first <= now_ms - span_ms)
            || self.calls.len() >= WINDOW_CALLS_MAX
        {
            self.calls.pop_front();
        }
        self.calls.push_back(now_ms);
        self.calls.len() > limit
    }

    /// How long it takes until a call would pass, if no other call comes before it.
    fn free_after_ms(&self, now_ms: Ms, limit: usize, span_ms: Ms) -> Ms {
        let last_to_go = self.calls.len().checked_sub(limit).and_then(|index| self.calls.get(index));
        last_to_go.map_or(0, |call| (call + span_ms - now_ms).max(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_calls_count_and_a_patient_caller_gets_through() {
        let mut throttle = Throttle::default();
        let chat = [Bucket::Chat("c".into())];
        assert!(throttle.count(&chat, 0).is_ok());
        for at in [100, 900, 1000, 1800] {
            assert!(throttle.count(&chat, at).is_err(), "{at}");
        }
        assert!(throttle.count(&chat, 2800).is_ok());
        assert!(throttle.count(&[Bucket::Chat("d".into())], 2800).is_ok());
    }

    #[test]
    fn the_wait_that_is_named_is_enough() {
        let mut throttle = Throttle::default();
        let list = [Bucket::UserChats];
        for at in 0..5 {
            assert!(throttle.count(&list, at * 10).is_ok());
        }
        let refusal = throttle.count(&list, 60).unwrap_err();
        assert!(throttle.count(&list, 60 + i64::from(refusal.wait_s) * 1000).is_ok());
    }

    #[test]
    fn a_hammering_caller_costs_bounded_memory() {
        let mut throttle = Throttle::default();
        for _ in 0..50_000 {
            let _ = throttle.count(&[Bucket::Other], 7);
        }
        assert!(throttle.windows[&Bucket::Other].calls.len() <= WINDOW_CALLS_MAX);
    }
}
