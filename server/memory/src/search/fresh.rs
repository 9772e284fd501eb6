//! What was said since the last commit of the index, so that a query finds it without one.
//!
//! It must never grow beyond what a scan of a few milliseconds reads.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use super::schema::stems;
use crate::stores::Message;

/// Messages that are held; more are committed.
pub(super) const MESSAGES_MAX: usize = 500;

/// A message that is not committed yet.
#[derive(Debug, Clone)]
pub(super) struct Fresh {
    pub(super) file: u64,
    pub(super) message: Message,
    /// Made when the first query looks at it: most messages are committed before.
    stems: OnceLock<BTreeSet<String>>,
}

impl Fresh {
    pub(super) fn new(file: u64, message: Message) -> Self {
        Self { file, message, stems: OnceLock::new() }
    }

    /// The stems of its words.
    pub(super) fn stems(&self) -> &BTreeSet<String> {
        self.stems.get_or_init(|| stems(&self.message.text).into_iter().collect())
    }
}
