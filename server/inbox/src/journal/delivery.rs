//! What goes from a mailbox to a carrier: the question, the page, and the number of the answer it goes out with.

use crate::record::{Channel, Record};

/// One answer to one call; the caller numbers them within its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeliveryId(pub u64);

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
    /// Show without retiring: a later hand-out brings the same records again, marked `redelivered`.
    pub peek: bool,
    /// Only what the consumer was not shown before. A push does not count: whether it was seen is not known.
    pub fresh_only: bool,
    /// With `peek`: this tells of what dead sessions were lately given and nobody was told of since, so that counts as
    /// fresh, and nobody else tells of it.
    pub tells: bool,
}

impl Default for Query {
    fn default() -> Self {
        Self {
            limit: 20,
            channel: None,
            since_id: None,
            bytes_max: usize::MAX,
            peek: false,
            fresh_only: false,
            tells: false,
        }
    }
}

/// One record for the consumer, and whether it may have seen it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handed {
    /// The record.
    pub record: Record,
    /// It was handed out before, and nobody said that it arrived.
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
    /// Something was passed by because another living session of the consumer holds it. If that one dies, nobody tells.
    pub held_elsewhere: bool,
    /// Always true; it is said so that no reader has to guess.
    pub oldest_first: bool,
}
