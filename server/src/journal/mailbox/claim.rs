//! What a carrier outside the connection needs: to be the only one that pushes a record.
//! It must never retire a record.

use super::{Mailbox, Note, joined, span_of};
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

    /// The consumer has surely seen these records, and nobody else needs to show them: hooks and `entraclaw wait` pass
    /// them by. They stay unread.
    pub fn note_shown(&mut self, seqs: &[u64]) -> Result<()> {
        let _lock = self.begin()?;
        let mut spans = Vec::new();
        for seq in seqs {
            let entry = self.journal.core().entry(*seq)?;
            spans.extend(entry.map(|entry| span_of(&entry)));
        }
        if !spans.is_empty() {
            self.note(Note::Show { spans: joined(spans) });
        }
        self.end();
        Ok(())
    }
}
