//! What a carrier outside the connection needs: to be the only one that pushes a record.
//! It must never retire a record.

use super::{Mailbox, Note, span_of};
use crate::journal::error::Result;

impl Mailbox {
    /// Marks a record as pushed if the consumer was never shown it by any way, and says whether it did. Of several
    /// sessions that ask, one gets it. Call it before the push is sent.
    pub fn claim_push(&mut self, seq: u64) -> Result<bool> {
        let Some(entry) = self.journal.core().entry(seq)? else { return Ok(false) };
        let _lock = self.begin()?;
        let span = span_of(&entry);
        let ledger = self.file.ledger();
        let known = [&ledger.shown, &ledger.pushed, &ledger.acked].iter().any(|set| set.has(span.0, seq));
        if !known {
            self.note(Note::Push { spans: vec![span] });
            self.journal.core().note_shown(seq);
        }
        self.end();
        Ok(!known)
    }

    /// Whether an answer has held this record, or the consumer is done with it. A push alone does not count.
    pub fn was_handed_out(&mut self, seq: u64) -> Result<bool> {
        self.refresh()?;
        let Some(entry) = self.journal.core().entry(seq)? else { return Ok(true) };
        let (channel, ledger) = (entry.record.channel, self.file.ledger());
        Ok(ledger.shown.has(channel, seq) || ledger.acked.has(channel, seq))
    }
}
