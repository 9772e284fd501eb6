//! The inbox socket of a fake Claude Code session: what it takes, holds and drops. It tells a sender nothing, whatever becomes of
//! a text, and never looks at what it says.

use std::collections::VecDeque;

use fake_hosts::Profile;

use scenario::{Inbound, PeerStep, Replacement};

/// Texts that wait for the person, or for a dialog to close, at most.
const WAITING_MAX: usize = 100;

/// The limits of the inbox socket.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SocketLimits {
    /// Texts at once; none where nothing limits them.
    burst: Option<i64>,
    /// Then one in so long.
    refill_ms: i64,
    /// A text that is the same as the one before within this time is dropped.
    same_ms: i64,
    /// Time after which held messages are dropped; `None`: they are kept.
    held_ms: Option<i64>,
    /// Longest line, in characters; none where nothing limits it.
    chars_max: Option<u64>,
    /// Whether a text behind a wrong token is kept from the model.
    checks_token: bool,
}

impl SocketLimits {
    /// The limits of a host.
    pub(crate) fn of(profile: &Profile) -> Self {
        let wake_up = &profile.wake_up;
        let signed = |ms: u64| i64::try_from(ms).unwrap_or(i64::MAX);
        Self {
            burst: wake_up.burst.map(signed),
            refill_ms: signed(*wake_up.refill_ms),
            same_ms: signed(*wake_up.same_ms),
            held_ms: wake_up.held_ms.map(signed),
            chars_max: *wake_up.chars_max,
            checks_token: *wake_up.checks_token,
        }
    }
}

/// The socket of one session and its one sender.
#[derive(Debug, Default)]
pub(crate) struct InboxSocketState {
    limits: SocketLimits,
    inbound: Inbound,
    /// Messages that the person's setting holds, and since when.
    held: VecDeque<(String, i64)>,
    has_dialog: bool,
    /// Messages that wait for a dialog to close.
    waiting: VecDeque<String>,
    is_gone: bool,
    replaced: Option<Replacement>,
    has_other_token: bool,
    /// The last text and when it came.
    last: Option<(String, i64)>,
    /// Until when the texts so far use up what a sender has.
    spent_until_ms: i64,
}

impl InboxSocketState {
    pub(crate) fn new(limits: SocketLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// The host has started anew; what its person has set stays.
    pub(crate) fn begin(&mut self) {
        *self = Self { inbound: self.inbound, ..Self::new(self.limits) };
    }

    /// The reason why a writer that checks the path does not use it.
    pub(crate) fn in_the_way(&self) -> Option<&'static str> {
        match self.replaced {
            _ if self.is_gone => Some("there is no such file"),
            Some(Replacement::Symlink) => Some("it is a symlink"),
            Some(Replacement::File) => Some("it is not a socket"),
            Some(Replacement::OtherUser) => Some("it belongs to another user"),
            None => None,
        }
    }

    /// Whether a text behind the token that the server was given is taken.
    pub(crate) fn takes_token(&self) -> bool {
        !(self.limits.checks_token && self.has_other_token)
    }

    /// A line came with this text. Whether it is shown now.
    pub(crate) fn admit(&mut self, line: &str, text: &str, now_ms: i64) -> bool {
        let fits = |max: u64| u64::try_from(line.chars().count()).is_ok_and(|chars| chars <= max);
        if !self.limits.chars_max.is_none_or(fits) || !self.has_room(text, now_ms) {
            return false;
        }
        match self.inbound {
            Inbound::Refuse => false,
            Inbound::Hold => {
                if self.held.len() < WAITING_MAX {
                    self.held.push_back((text.to_owned(), now_ms));
                }
                false
            }
            Inbound::Accept if self.has_dialog => {
                if self.waiting.len() < WAITING_MAX {
                    self.waiting.push_back(text.to_owned());
                }
                false
            }
            Inbound::Accept => true,
        }
    }

    /// The person does something, or something happens to the file. `show` shows the session a text.
    pub(crate) fn change(&mut self, step: PeerStep, now_ms: i64, show: &dyn Fn(&str) -> bool) {
        let due = match step {
            PeerStep::Inbound(inbound) => {
                self.inbound = inbound;
                VecDeque::new()
            }
            PeerStep::Gone => {
                self.is_gone = true;
                VecDeque::new()
            }
            PeerStep::Replaced(replacement) => {
                self.replaced = Some(replacement);
                VecDeque::new()
            }
            PeerStep::Back => {
                (self.is_gone, self.replaced) = (false, None);
                VecDeque::new()
            }
            PeerStep::OtherToken => {
                self.has_other_token = true;
                VecDeque::new()
            }
            PeerStep::Dialog(is_open) => {
                self.has_dialog = is_open;
                if is_open { VecDeque::new() } else { std::mem::take(&mut self.waiting) }
            }
            PeerStep::Release => {
                let held = std::mem::take(&mut self.held).into_iter();
                let max = self.limits.held_ms.unwrap_or(i64::MAX);
                held.filter(|(_, since)| now_ms - since < max).map(|(text, _)| text).collect()
            }
            PeerStep::Deny => {
                self.held.clear();
                VecDeque::new()
            }
            // It gives none.
            PeerStep::LoseReceipts(_) => VecDeque::new(),
        };
        for text in due {
            show(&text);
        }
    }

    fn has_room(&mut self, text: &str, now_ms: i64) -> bool {
        let same = |(last, at): &(String, i64)| last == text && now_ms - at < self.limits.same_ms;
        let spent_until_ms = self.spent_until_ms.max(now_ms) + self.limits.refill_ms;
        let is_spent =
            self.limits.burst.is_some_and(|burst| spent_until_ms - now_ms > burst * self.limits.refill_ms);
        if self.last.as_ref().is_some_and(same) || is_spent {
            return false;
        }
        (self.last, self.spent_until_ms) = (Some((text.to_owned(), now_ms)), spent_until_ms);
        true
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn socket() -> InboxSocketState {
        InboxSocketState::new(SocketLimits::of(&fake_hosts::profile("claude-code@2.1.330").unwrap()))
    }

    fn change(socket: &mut InboxSocketState, step: PeerStep, now_ms: i64) -> Vec<String> {
        let shown = RefCell::new(Vec::new());
        socket.change(step, now_ms, &|text| {
            shown.borrow_mut().push(text.to_owned());
            true
        });
        shown.into_inner()
    }

    #[test]
    fn another_token_matters_only_where_the_host_looks_at_it() {
        for checks_token in [false, true] {
            let mut socket = InboxSocketState::new(SocketLimits { checks_token, ..SocketLimits::default() });
            assert!(socket.takes_token());
            change(&mut socket, PeerStep::OtherToken, 0);
            assert_eq!(socket.takes_token(), !checks_token);
        }
    }

    #[test]
    fn a_replaced_socket_is_not_used_until_it_is_back() {
        let mut socket = socket();
        for replacement in [Replacement::Symlink, Replacement::File, Replacement::OtherUser] {
            change(&mut socket, PeerStep::Replaced(replacement), 0);
            assert!(socket.in_the_way().is_some(), "{replacement:?}");
            change(&mut socket, PeerStep::Back, 0);
            assert!(socket.in_the_way().is_none());
        }
    }

    #[test]
    fn of_a_hundred_at_once_thirty_come_and_then_one_in_two_seconds() {
        let mut socket = socket();
        let count = (0..100).filter(|n| socket.admit("", &n.to_string(), 0)).count();
        assert_eq!(count, 30);
        assert!(!socket.admit("", "late", 1_999) && socket.admit("", "late", 2_000));
    }

    #[test]
    fn the_same_text_comes_again_after_half_a_minute_and_a_line_has_its_length() {
        let mut socket = socket();
        assert!(socket.admit("", "a", 0) && !socket.admit("", "a", 29_999) && socket.admit("", "a", 30_000));
        assert!(socket.admit(&"x".repeat(1_048_576), "long", 40_000));
        assert!(!socket.admit(&"x".repeat(1_048_577), "longer", 50_000));
    }

    #[test]
    fn a_held_text_waits_for_five_minutes_and_one_behind_a_dialog_for_its_end() {
        let mut socket = socket();
        change(&mut socket, PeerStep::Inbound(Inbound::Hold), 0);
        assert!(!socket.admit("", "a", 0) && !socket.admit("", "b", 200_000));
        assert_eq!(change(&mut socket, PeerStep::Release, 300_000), ["b"]);
        change(&mut socket, PeerStep::Inbound(Inbound::Accept), 300_000);
        change(&mut socket, PeerStep::Dialog(true), 300_000);
        assert!(!socket.admit("", "c", 300_000));
        assert_eq!(change(&mut socket, PeerStep::Dialog(false), 900_000), ["c"]);
        change(&mut socket, PeerStep::Gone, 900_000);
        assert!(socket.in_the_way().is_some());
        socket.begin();
        assert!(socket.in_the_way().is_none());
    }
}
