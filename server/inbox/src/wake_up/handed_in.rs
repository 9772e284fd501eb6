//! The messages that an inbox of a host was given, and how many more it takes. It must never send one.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::wake::Wake;
use crate::record::Record;

/// Messages that an inbox takes at once; the same in Qwen Code and Claude Code.
const BURST: u32 = 30;
/// After a burst, the inbox takes one message in each such interval.
const REFILL: Duration = Duration::from_secs(2);

/// The messages that were handed in, as far as they are known.
#[derive(Debug, Default)]
pub(super) struct HandedIn {
    /// The message whose receipt is awaited.
    pub(super) outstanding: Option<Outstanding>,
    /// Earlier messages that may still get another receipt, the newest last.
    pub(super) settled: VecDeque<Settled>,
    /// The last place when this burst began. Messages up to it go without the pause between two wake-ups.
    pub(super) burst_end_seq: u64,
    /// When the inbox takes a whole burst again.
    full_at: Option<Instant>,
}

/// A settled message that may still get another receipt.
#[derive(Debug, Clone)]
pub(super) struct Settled {
    pub(super) id: String,
    /// The records that it showed whole; none for an announcement.
    pub(super) shows: Vec<Record>,
}

/// A message whose receipt is awaited.
#[derive(Debug)]
pub(super) struct Outstanding {
    pub(super) id: String,
    pub(super) wake: Wake,
    pub(super) tries: usize,
    /// Whether one of the tries may have arrived.
    pub(super) may_be_there: bool,
    pub(super) is_held: bool,
    /// When the message is handed in again or given up.
    pub(super) next_at: Instant,
}

impl Outstanding {
    /// The records that it shows whole.
    pub(super) fn shows(&self) -> Vec<Record> {
        if self.wake.is_whole { self.wake.records.clone() } else { Vec::new() }
    }
}

impl HandedIn {
    /// Counts one more message as handed in.
    pub(super) fn spend(&mut self, now: Instant) {
        let full_at = self.full_at.map_or(now, |at| at.max(now));
        self.full_at = Some(full_at + REFILL);
    }

    /// When the inbox takes one more message.
    pub(super) fn takes_at(&self) -> Instant {
        let now = Instant::now();
        let full_at = self.full_at.unwrap_or(now);
        full_at.checked_sub(REFILL * (BURST - 1)).unwrap_or(now).max(now)
    }
}
