//! Removes a consumer for good when the operator asks for it: its file, and its name from the summary.
//!
//! It must never take the file of a consumer that a session or a command reads as.

use std::sync::Arc;

use super::Core;
use crate::journal::consumer::ConsumerName;
use crate::journal::error::{JournalError, Result};
use crate::journal::interaction::{Interaction, InteractionKind};
use crate::journal::ledger_file::{self, ASIDE, CONSUMERS, LedgerFile};

/// The outcome of a consumer's removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removed {
    /// It was removed. A session that takes this name later begins as a new consumer.
    Gone,
    /// There is no consumer of this name.
    Unknown,
    /// A session or a command reads as it, so it stays.
    Used,
}

impl Core {
    pub(in crate::journal) fn remove_consumer(&mut self, name: &ConsumerName) -> Result<Removed> {
        let doing = "remove a consumer";
        let waited_ms = self.options.lock_wait_ms;
        let lock = ledger_file::lock_path(name);
        let mut file = LedgerFile::new(Arc::clone(&self.storage), name);
        if file.is_missing().map_err(JournalError::storage(doing))? {
            return Ok(Removed::Unknown);
        }
        // A session that begins meanwhile waits for the lock, and then makes a new file.
        let held = self.storage.lock(&lock, waited_ms).map_err(JournalError::storage(doing))?;
        let Some(held) = held else { return Err(JournalError::Busy { lock, waited_ms }) };
        file.refresh().map_err(JournalError::storage(doing))?;
        let slots = file.ledger().slots.keys();
        if slots.into_iter().any(|slot| ledger_file::slot_is_taken(&*self.storage, name, *slot)) {
            return Ok(Removed::Used);
        }
        let path = format!("{CONSUMERS}/{name}.jsonl");
        // The name first: a file that is gone while its name is known would be made again.
        self.state.forget(name, waited_ms).map_err(JournalError::storage(doing))?;
        self.storage.remove(&path).map_err(JournalError::storage(doing))?;
        let _ = self.storage.remove(&format!("{path}{ASIDE}"));
        drop(held);
        let detail = format!("consumer {name} was removed in the terminal");
        self.audit(vec![Interaction::new(InteractionKind::Access).detail(detail)]);
        self.write_state();
        Ok(Removed::Gone)
    }
}
