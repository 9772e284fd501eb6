//! What goes from a mailbox to a carrier: the question, the page, and the number of the answer it goes out with.

use super::delivery_state::{DeliveryState, Move};
use crate::record::{Channel, Record};

/// One answer to one call; the caller numbers them within its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeliveryId(pub u64);

/// For what records are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// For a tool's answer: this session holds the records until the consumer comes back.
    HandOut,
    /// For a look: everything stays as it is, but comes marked from then on.
    Peek,
    /// To tell the model from outside its session, as a hook does: everything that is unread.
    TellUnread,
    /// The same, but only what the consumer was not shown before and orphaned deliveries. A push does not count as shown:
    /// whether the model saw it is not known.
    TellNew,
}

impl Purpose {
    /// What it does to each record.
    pub const fn moves(self) -> Move {
        match self {
            Self::HandOut => Move::HandOut,
            Self::Peek => Move::Peek,
            Self::TellUnread | Self::TellNew => Move::Tell,
        }
    }

    /// Whether it brings a record that stands so.
    pub const fn brings(self, state: DeliveryState) -> bool {
        let is_shown = matches!(state, DeliveryState::Shown | DeliveryState::Pending);
        state.may(self.moves()) && !(is_shown && matches!(self, Self::TellNew))
    }
}

/// What a hand-out should hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// Records at most.
    pub limit: usize,
    /// Only this channel.
    pub channel: Option<Channel>,
    /// Only what came after the newest message with this id; empty is as good as none.
    pub since_id: Option<String>,
    /// Bytes of records as JSON at most; the first one always fits.
    pub bytes_max: usize,
    /// For what.
    pub purpose: Purpose,
}

impl Default for Query {
    fn default() -> Self {
        Self { limit: 20, channel: None, since_id: None, bytes_max: usize::MAX, purpose: Purpose::HandOut }
    }
}

/// One record for the consumer, and whether it may have seen it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handed {
    /// The record.
    pub record: Record,
    /// It was shown before, and the consumer has not acknowledged it.
    pub redelivered: bool,
    /// It was pushed before, which may or may not have reached the model.
    pub pushed: bool,
}

/// One page for the consumer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// The records, oldest first.
    pub items: Vec<Handed>,
    /// Unread records of the queried channel that are neither on this page nor held by an open delivery or by another
    /// living session of the consumer.
    pub unread_remaining: u64,
    /// Something was passed by because another living session of the consumer holds it. Its death is not told; look again later.
    pub held_elsewhere: bool,
    /// Always true; it is part of the answer's shape, so that a model need not guess.
    pub oldest_first: bool,
}
