//! The inbox of a fake session that speaks Qwen Code's cross-session protocol: what it takes, holds, refuses, and what it
//! says of that. It must never show the same message twice, nor look at what a text says.

use std::collections::{BTreeMap, VecDeque};

use entraclaw_inbox::wake_up::{Receipt, ReceiptStatus};
use fake_hosts::Profile;
use tokio::sync::mpsc;

use scenario::{Inbound, PeerStep};

/// Messages that wait for the person at most.
const HELD_MAX: usize = 50;
/// Verdicts that are remembered.
const SETTLED_MAX: usize = 512;
/// Receipts that wait for a slow server.
const RECEIPTS_MAX: usize = 1_024;

/// How many messages come through, and how soon the session says so.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Limits {
    /// At once; none where nothing limits them.
    burst: Option<u64>,
    /// Then one in so long.
    refill_ms: u64,
    /// From a message to its receipt.
    pub(crate) receipt_ms: u64,
}

impl Limits {
    /// Those of a host.
    pub(crate) fn of(profile: &Profile) -> Self {
        let wake_up = &profile.wake_up;
        Self { burst: *wake_up.burst, refill_ms: *wake_up.refill_ms, receipt_ms: *wake_up.receipt_ms }
    }
}

/// The inbox, over all sessions of one host.
#[derive(Debug, Default)]
pub(crate) struct PeerInbox {
    limits: Limits,
    inbound: Inbound,
    loses_receipts: bool,
    settled: BTreeMap<String, ReceiptStatus>,
    held: VecDeque<(String, String)>,
    /// Milliseconds of the allowance that are spent, and when that was counted.
    spent_ms: u64,
    counted_ms: i64,
    receipts: Option<mpsc::Sender<Receipt>>,
}

impl PeerInbox {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// The host has started anew and remembers nothing; what its person has set stays.
    pub(crate) fn begin(&mut self) {
        self.settled.clear();
        self.held.clear();
        self.spent_ms = 0;
    }

    /// A server that waits for receipts from now on; one before it hears no more.
    pub(crate) fn listen(&mut self) -> mpsc::Receiver<Receipt> {
        let (sender, receiver) = mpsc::channel(RECEIPTS_MAX);
        self.receipts = Some(sender);
        receiver
    }

    /// A message came in. `show` puts it into the session's queue, and says whether there was a session.
    pub(crate) fn admit(&mut self, id: &str, text: &str, now_ms: i64, show: &dyn Fn(&str) -> bool) {
        if !self.has_room(now_ms) {
            return self.say(id, ReceiptStatus::Dropped);
        }
        if let Some(verdict) = self.settled.get(id) {
            return self.say(id, *verdict);
        }
        if self.held.iter().any(|(held, _)| held == id) {
            return self.say(id, ReceiptStatus::Held);
        }
        match self.inbound {
            Inbound::Accept => self.deliver(id, text, show),
            Inbound::Refuse => self.settle(id, ReceiptStatus::Refused),
            Inbound::Hold if self.held.len() == HELD_MAX => self.say(id, ReceiptStatus::Dropped),
            Inbound::Hold => {
                self.held.push_back((id.to_owned(), text.to_owned()));
                self.say(id, ReceiptStatus::Held);
            }
        }
    }

    /// The person does something.
    pub(crate) fn change(&mut self, step: PeerStep, show: &dyn Fn(&str) -> bool) {
        match step {
            PeerStep::Inbound(inbound) => self.inbound = inbound,
            PeerStep::LoseReceipts(loses) => self.loses_receipts = loses,
            PeerStep::Release => {
                for (id, text) in std::mem::take(&mut self.held) {
                    self.deliver(&id, &text, show);
                }
            }
            // Nothing is known of this inbox behind a dialog, or without its file.
            PeerStep::Dialog(_)
            | PeerStep::Gone
            | PeerStep::Replaced(_)
            | PeerStep::Back
            | PeerStep::OtherToken => {}
            PeerStep::Deny => {
                for (id, _) in std::mem::take(&mut self.held) {
                    self.settle(&id, ReceiptStatus::Denied);
                }
            }
        }
    }

    fn deliver(&mut self, id: &str, text: &str, show: &dyn Fn(&str) -> bool) {
        // Observed: the host takes every `<` for a beginning of its own frame.
        if show(&text.replace('<', "&lt;")) {
            self.settle(id, ReceiptStatus::Delivered);
        } else {
            self.say(id, ReceiptStatus::Dropped);
        }
    }

    fn settle(&mut self, id: &str, verdict: ReceiptStatus) {
        if self.settled.len() == SETTLED_MAX {
            self.settled.pop_first();
        }
        self.settled.insert(id.to_owned(), verdict);
        self.say(id, verdict);
    }

    fn say(&mut self, id: &str, status: ReceiptStatus) {
        if let Some(receipts) = self.receipts.as_ref().filter(|_| !self.loses_receipts) {
            // The sender is not told that a receipt was lost.
            let _ = receipts.try_send(Receipt { ids: vec![id.to_owned()], status });
        }
    }

    fn has_room(&mut self, now_ms: i64) -> bool {
        let Some(burst) = self.limits.burst else { return true };
        let passed_ms = u64::try_from(now_ms - self.counted_ms).unwrap_or(0);
        self.counted_ms = now_ms;
        self.spent_ms = self.spent_ms.saturating_sub(passed_ms);
        let has_room = self.spent_ms + self.limits.refill_ms <= burst * self.limits.refill_ms;
        if has_room {
            self.spent_ms += self.limits.refill_ms;
        }
        has_room
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn told(receipts: &mut mpsc::Receiver<Receipt>) -> Vec<ReceiptStatus> {
        std::iter::from_fn(|| receipts.try_recv().ok()).map(|receipt| receipt.status).collect()
    }

    #[test]
    fn a_repeat_is_told_the_verdict_and_shown_nothing() {
        let shown = RefCell::new(Vec::new());
        let show = |text: &str| {
            shown.borrow_mut().push(text.to_owned());
            true
        };
        let mut inbox = PeerInbox::default();
        let mut receipts = inbox.listen();
        inbox.admit("a", "<one>", 0, &show);
        inbox.admit("a", "another", 0, &show);
        assert_eq!(told(&mut receipts), [ReceiptStatus::Delivered; 2]);
        inbox.change(PeerStep::Inbound(Inbound::Hold), &show);
        inbox.admit("b", "two", 0, &show);
        inbox.admit("b", "two", 0, &show);
        inbox.change(PeerStep::Deny, &show);
        inbox.admit("b", "two", 0, &show);
        let (held, denied) = (ReceiptStatus::Held, ReceiptStatus::Denied);
        assert_eq!(told(&mut receipts), [held, held, denied, denied]);
        assert_eq!(*shown.borrow(), ["&lt;one>"]);
        inbox.begin();
        inbox.change(PeerStep::Inbound(Inbound::Refuse), &show);
        inbox.admit("a", "one", 0, &show);
        assert_eq!(told(&mut receipts), [ReceiptStatus::Refused]);
    }

    #[test]
    fn a_message_above_the_limit_is_dropped_and_can_come_again() {
        let limits = Limits { burst: Some(30), refill_ms: 2_000, receipt_ms: 0 };
        let mut inbox = PeerInbox::new(limits);
        let mut receipts = inbox.listen();
        for id in 0..31 {
            inbox.admit(&id.to_string(), "x", 1_000, &|_| true);
        }
        let verdicts = told(&mut receipts);
        assert_eq!((verdicts[29], verdicts[30]), (ReceiptStatus::Delivered, ReceiptStatus::Dropped));
        inbox.admit("30", "x", 3_000, &|_| true);
        assert_eq!(told(&mut receipts), [ReceiptStatus::Delivered]);
    }
}
