//! The types between a mailbox and a carrier: the query, the page of records, and the number of its answer.

use super::delivery_state::{DeliveryState, Move};
use super::ledger::Ledger;
use super::log::Entry;
use crate::record::{Channel, Record};

/// The number of an answer to a call, unique within the caller's session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeliveryId(pub u64);

/// Why records are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To put them into a tool's answer. This session holds them until the consumer's next call.
    HandOut,
    /// To show them without handing them out. They stay unread, and are marked `redelivered` from then on.
    Peek,
    /// To show the model all unread records from outside its session, as a hook does.
    TellUnread,
    /// The same, but only records that the consumer was not shown, and orphaned deliveries. A pushed record does not count
    /// as shown, because it is not known whether the model saw it.
    TellNew,
}

impl Purpose {
    /// The move that it makes with each record.
    pub const fn moves(self) -> Move {
        match self {
            Self::HandOut => Move::HandOut,
            Self::Peek => Move::Peek,
            Self::TellUnread | Self::TellNew => Move::Tell,
        }
    }

    /// Whether it includes a record in this state.
    pub const fn brings(self, state: DeliveryState) -> bool {
        let is_shown =
            matches!(state, DeliveryState::Shown | DeliveryState::Doubtful | DeliveryState::Pending);
        state.may(self.moves()) && !(is_shown && matches!(self, Self::TellNew))
    }
}

/// The records that a caller asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// Records at most.
    pub limit: usize,
    /// Only this channel.
    pub channel: Option<Channel>,
    /// Only records after the newest message with this id. An empty id counts as `None`.
    pub since_id: Option<String>,
    /// Bytes of records as JSON at most; the first one always fits.
    pub bytes_max: usize,
    /// Why they are asked for.
    pub purpose: Purpose,
}

impl Default for Query {
    fn default() -> Self {
        Self { limit: 20, channel: None, since_id: None, bytes_max: usize::MAX, purpose: Purpose::HandOut }
    }
}

/// A record for the consumer, with the marks of a repetition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handed {
    /// The record.
    pub record: Record,
    /// It was shown before, and the consumer has not acknowledged it.
    pub redelivered: bool,
    /// It was pushed before, and it is not known whether the model saw it.
    pub pushed: bool,
}

impl Handed {
    /// The record with its marks in a ledger.
    pub(super) fn of(ledger: &Ledger, entry: &Entry) -> Self {
        let Record { channel, seq, restored, .. } = entry.record;
        Self {
            record: entry.record.clone(),
            redelivered: restored || ledger.shown.has(channel, seq),
            pushed: ledger.pushed.has(channel, seq),
        }
    }
}

/// One page for the consumer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// The records, oldest first.
    pub items: Vec<Handed>,
    /// The number of unread records of the queried channel that are neither on this page nor held by an open delivery or by
    /// another running session of the consumer.
    pub unread_remaining: u64,
    /// Whether records were skipped because another running session of the consumer holds them. The end of that session is
    /// not announced; ask again later.
    pub held_elsewhere: bool,
    /// Always true; it is part of the answer's shape, so that a model need not guess.
    pub oldest_first: bool,
}
