//! One host session's view of a consumer.

use super::error::Result;
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
    /// Only what came after the message with this id.
    pub since_id: Option<String>,
    /// Bytes of records as JSON at most; the first one always fits.
    pub bytes_max: usize,
    /// Show without retiring: a later hand-out brings the same records again, marked `redelivered`.
    pub peek: bool,
}

impl Default for Query {
    fn default() -> Self {
        Self { limit: 20, channel: None, since_id: None, bytes_max: usize::MAX, peek: false }
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
    /// Records that the same query without `since_id` could still bring after this page.
    pub unread_remaining: u64,
    /// Always true; it is said so that no reader has to guess.
    pub oldest_first: bool,
}

/// One host session's view of a consumer.
#[derive(Debug)]
pub struct Mailbox {
    journal: super::Journal,
}

impl Mailbox {
    pub(super) fn new(journal: super::Journal) -> Self {
        Self { journal }
    }

    /// Hands out the oldest unread records that match.
    pub fn hand_out(&mut self, _delivery: DeliveryId, _query: &Query) -> Result<Batch> {
        Ok(Batch { items: Vec::new(), unread_remaining: self.journal.last_seq(), oldest_first: true })
    }

    /// The consumer has what this delivery held. Returns how many records that retired.
    pub fn acknowledge(&mut self, _delivery: DeliveryId) -> Result<usize> {
        Ok(0)
    }

    /// The consumer came back: it has everything that finished deliveries of this session held.
    pub fn acknowledge_returned(&mut self) -> Result<usize> {
        Ok(0)
    }

    /// The reply with this delivery went out.
    pub fn finish(&mut self, _delivery: DeliveryId) {}

    /// The reply was cancelled or lost: its records are handed out again, marked `redelivered`.
    pub fn give_back(&mut self, _delivery: DeliveryId) -> Result<()> {
        Ok(())
    }

    /// A push with this record is about to be sent. Call it before sending.
    pub fn note_pushed(&mut self, _seq: u64) -> Result<()> {
        Ok(())
    }

    /// Whether the consumer was never shown this record by any way.
    pub fn is_new(&mut self, _seq: u64) -> Result<bool> {
        Ok(true)
    }

    /// The consumer names messages that it has. Returns how many records that retired.
    pub fn acknowledge_ids(&mut self, _ids: &[&str]) -> Result<usize> {
        Ok(0)
    }

    /// Records that the consumer has not acknowledged.
    pub fn unread(&mut self, _channel: Option<Channel>) -> u64 {
        0
    }

    /// When the oldest unread record was written, RFC 3339.
    pub fn oldest_unread_ts(&mut self) -> Option<String> {
        None
    }
}
