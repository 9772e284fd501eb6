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
pub(crate) struct Answered(Arc<Mutex<BTreeMap<u64, Claimed>>>);

impl Answered {
    fn locked(&self) -> MutexGuard<'_, BTreeMap<u64, Claimed>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a result until its answer has left, and marks the answer.
    pub(crate) fn keep(&self, number: u64, claimed: Claimed, answer: Answer) -> Answer {
        self.locked().insert(number, claimed);
        answer.with_receipt(Receipt { reader: READER.to_owned(), number })
    }

    /// Takes the result back whose answer has this receipt; dropped, it goes to the inbox.
    pub(crate) fn take(&self, receipt: &Receipt) -> Option<Claimed> {
        if receipt.reader == READER { self.locked().remove(&receipt.number) } else { None }
    }
}
