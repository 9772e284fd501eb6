//! The results whose answer has not left yet: until it has, a result may still go to the inbox.
//! It must never hand a result on by itself.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use entraclaw_mcp::{Answer, Receipt};
use entraclaw_work::Claimed;

/// Whose receipts the provider's are.
const READER: &str = "ask";

/// Results whose answer has not left yet, by the number of their receipt. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Answered(Arc<Mutex<BTreeMap<u64, Kept>>>);

/// A result whose answer has not left yet.
pub(crate) struct Kept {
    pub(crate) claimed: Claimed,
    /// Whether the answer is that of a task, whose client may ask again.
    pub(crate) is_task: bool,
}

impl Answered {
    fn locked(&self) -> MutexGuard<'_, BTreeMap<u64, Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a result until its answer has left, and marks the answer.
    pub(crate) fn keep(&self, number: u64, claimed: Claimed, answer: Answer) -> Answer {
        answer.with_receipt(self.insert(number, Kept { claimed, is_task: false }))
    }

    /// Keeps a result until the answer for its task has left.
    pub(crate) fn keep_task(&self, number: u64, claimed: Claimed) -> Receipt {
        self.insert(number, Kept { claimed, is_task: true })
    }

    fn insert(&self, number: u64, kept: Kept) -> Receipt {
        self.locked().insert(number, kept);
        Receipt { reader: READER.to_owned(), number }
    }

    /// Takes the result back whose answer has this receipt; dropped, it goes to the inbox.
    pub(crate) fn take(&self, receipt: &Receipt) -> Option<Kept> {
        if receipt.reader == READER { self.locked().remove(&receipt.number) } else { None }
    }
}
