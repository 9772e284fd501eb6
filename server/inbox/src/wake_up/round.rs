//! The state of the loop that wakes a host, and the marks that its messages get. It must never decide what is told.

use std::collections::{BTreeSet, VecDeque};

use jiff::Timestamp;
use tokio::time::Instant;

use super::handed_in::HandedIn;
use super::{HostWakeUp, WakeUpState};
use crate::journal::{ConsumerName, Mailbox};
use crate::record::Record;

/// The state of the loop: one host, its wake-up, and the messages done so far.
pub(super) struct Round {
    pub(super) wake_up: HostWakeUp,
    pub(super) consumer: ConsumerName,
    /// When the connection began.
    pub(super) since: Timestamp,
    /// The newest record up to which all were shown or pushed.
    pub(super) done_seq: u64,
    /// Later records that are marked as pushed, but whose wake-up surely did not arrive.
    pub(super) claimed: BTreeSet<u64>,
    /// Whether an announcement is noted whose wake-up surely did not arrive.
    pub(super) is_untold: bool,
    /// Orphaned deliveries that this session took over and whose wake-up surely did not arrive.
    pub(super) left: Vec<Record>,
    /// When to look for orphaned deliveries next, while something is unread.
    pub(super) orphan_look_at: Option<Instant>,
    /// When to remind the agent of messages that it was told of and did not read.
    pub(super) remind_at: Option<Instant>,
    /// Opened at its first use, then kept: it remembers what it has pushed and which sessions had ended
    /// before.
    pub(super) mailbox: Option<Mailbox>,
    /// The messages for which the host sends receipts.
    pub(super) handed_in: HandedIn,
    /// The earliest time of the next wake-up.
    pub(super) next_at: Instant,
    /// The last wake-up and the time until which it is outstanding, unless the host calls a tool before.
    pub(super) outstanding: Option<(Instant, Instant)>,
    /// The number of wake-ups so far.
    pub(super) wakes: u64,
    /// The number of failed tries of the present message.
    pub(super) failures: usize,
    /// When the messages of the last hour were sent.
    pub(super) hour: VecDeque<Instant>,
    pub(super) state: WakeUpState,
}

/// Notes that the host took these records, so that a hook does not show them too.
pub(super) fn note_shown(round: &mut Round, records: &[Record]) {
    let seqs: Vec<u64> = records.iter().map(|record| record.seq).collect();
    if let Some(Err(error)) = round.mailbox.as_mut().map(|mailbox| mailbox.note_shown(&seqs)) {
        tracing::warn!(%error, "that a wake-up has arrived could not be noted; a hook may tell it again, marked");
    }
}

/// Notes that the host surely showed none of these records, so they come in another way without a mark.
pub(super) fn withdraw(round: &mut Round, records: &[Record]) {
    let seqs: Vec<u64> = records.iter().map(|record| record.seq).collect();
    if let Some(Err(error)) = round.mailbox.as_mut().map(|mailbox| mailbox.withdraw_pushes(&seqs)) {
        tracing::warn!(%error, "that a wake-up has shown nothing could not be noted; its messages come marked as pushed");
    }
}
