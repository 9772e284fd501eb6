//! Claims of carriers that push: the state of a record, the right to push it, and the takeover of orphaned deliveries.
//!
//! It must never retire a record.

use std::collections::{BTreeMap, BTreeSet};

use super::standing::Standing;
use super::{Mailbox, Note, Span, joined, span_of};
use crate::journal::delivery_state::{DeliveryState, Move};
use crate::journal::error::Result;
use crate::journal::ledger::Held;
use crate::journal::log::Entry;
use crate::journal::orphans;
use crate::record::Record;

/// Orphaned deliveries that are taken over at a time; the others wait for the next call.
const TAKEN_OVER_MAX: usize = 32;
/// Records whose push is remembered. An older one may be pushed again, marked.
const PUSHED_HERE_MAX: usize = 1_024;

/// The pushes of a session, and the orphaned deliveries that it leaves to others.
#[derive(Default)]
pub(super) struct Known {
    /// Deliveries that were orphaned long before this session began. They are left to hooks and to the next pull.
    pub(super) older: BTreeSet<u64>,
    /// Records that this session pushed.
    pushed_here: BTreeSet<u64>,
    /// Those of them that no session had pushed before.
    first_pushed_here: BTreeSet<u64>,
    /// Records whose push by this session surely failed. It does not take them over again.
    withdrawn_here: BTreeSet<u64>,
}

impl Mailbox {
    /// The state of a record for this session's consumer. A deleted record counts as acknowledged.
    pub fn state_of(&mut self, seq: u64) -> Result<DeliveryState> {
        self.refresh()?;
        let entry = self.journal.core().entry(seq)?;
        // A record for another consumer counts as acknowledged too.
        let entry = entry.filter(|entry| entry.record.is_for(self.consumer.as_str()));
        let state = |entry: &Entry| Standing::of(self).state(entry.record.channel, seq);
        Ok(entry.map_or(DeliveryState::Acknowledged, |entry| state(&entry)))
    }

    /// Marks a record as pushed if it is new, and returns whether it did. Returns true to only one of several sessions that
    /// ask. Call it before the push is sent; from then on the record comes marked `pushed`.
    pub fn claim_push(&mut self, seq: u64) -> Result<bool> {
        // Most records of a backlog are not new; these need no lock.
        if !self.state_of(seq)?.may(Move::Push) {
            return Ok(false);
        }
        let Some(entry) = self.journal.core().entry(seq)? else { return Ok(false) };
        let _lock = self.begin()?;
        let span = span_of(&entry);
        let may = Standing::of(self).state(span.0, seq).may(Move::Push);
        if may {
            self.note(Note::Push { spans: vec![span], orphaned_by: Vec::new() });
            self.remember_pushed(seq, true);
        }
        self.end();
        Ok(may)
    }

    /// Withdraws the marks of pushes that surely reached no model, so that another carrier brings these records unmarked.
    /// A record that another session has pushed before keeps its mark.
    pub fn withdraw_pushes(&mut self, seqs: &[u64]) -> Result<()> {
        let seqs: Vec<u64> =
            seqs.iter().copied().filter(|seq| self.known.first_pushed_here.contains(seq)).collect();
        if seqs.is_empty() {
            return Ok(());
        }
        let _lock = self.begin()?;
        let spans = self.spans_at(&seqs)?;
        for seq in seqs {
            self.known.first_pushed_here.remove(&seq);
            self.known.withdrawn_here.insert(seq);
        }
        if !spans.is_empty() {
            self.note(Note::Withdraw { spans: joined(spans) });
        }
        while self.known.withdrawn_here.len() > PUSHED_HERE_MAX {
            self.known.withdrawn_here.pop_first();
        }
        self.end();
        Ok(())
    }

    /// Whether there is an orphaned delivery to take over.
    pub fn has_orphans(&mut self) -> Result<bool> {
        self.refresh()?;
        Ok(!self.to_push_again().is_empty())
    }

    /// Takes over orphaned deliveries of the last hour or since this session began. The caller must push them, marked as
    /// repetitions; they stay unread. Only one of several sessions that ask gets each. `fits` returns how many of the
    /// records, from the first on, fit into one push. Records that this session has pushed are left to the next pull.
    pub fn take_over(&mut self, fits: &dyn Fn(&[Record]) -> usize) -> Result<Vec<Record>> {
        if !self.has_orphans()? {
            return Ok(Vec::new());
        }
        let _lock = self.begin()?;
        let mut records = Vec::new();
        let mut pushes = Vec::new();
        let mut known = Vec::new();
        let mut lost: BTreeMap<u16, Vec<Span>> = BTreeMap::new();
        for (seq, (slot, Held { span, .. })) in self.to_push_again().into_iter().take(TAKEN_OVER_MAX) {
            match self.journal.core().entry(seq)? {
                Some(_) if self.known.pushed_here.contains(&seq) => known.push((slot, span)),
                Some(entry) => {
                    records.push(entry.record.clone());
                    pushes.push((slot, span));
                }
                None => lost.entry(slot).or_default().push(span),
            }
        }
        records.truncate(fits(&records));
        pushes.truncate(records.len());
        for (slot, spans) in lost {
            self.note(Note::GiveBack { slot, spans });
        }
        let pushed = &self.file.ledger().pushed;
        let is_first: Vec<bool> =
            records.iter().map(|record| !pushed.has(record.channel, record.seq)).collect();
        pushes.extend(known);
        if !pushes.is_empty() {
            let slots: BTreeSet<u16> = pushes.iter().map(|(slot, _)| *slot).collect();
            let spans = joined(pushes.into_iter().map(|(_, span)| span).collect());
            self.note(Note::Push { spans, orphaned_by: slots.into_iter().collect() });
        }
        for (record, is_first) in records.iter().zip(is_first) {
            self.remember_pushed(record.seq, is_first);
        }
        self.end();
        Ok(records)
    }

    fn to_push_again(&self) -> BTreeMap<u64, (u16, Held)> {
        let mut orphaned = Standing::of(self).orphaned();
        orphaned.retain(|seq, (_, held)| !held.is_pushed_again && !self.known.withdrawn_here.contains(seq));
        orphaned
    }

    /// Whether another session, running or ended, holds a record or an announcement that this session may take over later.
    /// It reads no file.
    pub fn others_hold(&self) -> bool {
        let slots = self.file.ledger().slots.iter().filter(|(slot, _)| **slot != self.slot);
        let mut held = slots.flat_map(|(_, what)| what.held.iter());
        // This session repeats the announcement of another one when that session ends.
        let announces = self.file.ledger().announced.is_some_and(|announced| announced.slot != self.slot);
        let is_ours = |seq: &u64| self.known.older.contains(seq) || self.known.withdrawn_here.contains(seq);
        announces || held.any(|(seq, held)| !held.is_pushed_again && !is_ours(seq))
    }

    /// Leaves deliveries that were orphaned long before this session began to hooks and to the next pull.
    pub(super) fn pass_by_older_orphans(&mut self) {
        let now = self.journal.core().clock.now();
        let older = Standing::of(self).orphaned();
        let older = older.into_iter().filter(|(_, (_, held))| !orphans::is_recent(*held, now));
        self.known.older = older.map(|(seq, _)| seq).collect();
    }

    /// The spans of the records at these places, as far as there are any.
    fn spans_at(&self, seqs: &[u64]) -> Result<Vec<Span>> {
        let entries = seqs.iter().filter_map(|seq| self.journal.core().entry(*seq).transpose());
        entries.map(|entry| Ok(span_of(&*entry?))).collect()
    }

    fn remember_pushed(&mut self, seq: u64, is_first: bool) {
        self.known.pushed_here.insert(seq);
        if is_first {
            self.known.first_pushed_here.insert(seq);
        }
        if self.known.first_pushed_here.len() > PUSHED_HERE_MAX {
            self.known.first_pushed_here.pop_first();
        }
        if self.known.pushed_here.len() > PUSHED_HERE_MAX {
            self.known.pushed_here.pop_first();
        }
    }

    /// Marks records that the model has surely seen as shown, so that hooks and `entraclaw wait` skip them. They stay unread.
    pub fn note_shown(&mut self, seqs: &[u64]) -> Result<()> {
        let _lock = self.begin()?;
        let spans = self.spans_at(seqs)?;
        if !spans.is_empty() {
            self.note(Note::Show { spans: joined(spans), orphaned_by: Vec::new() });
        }
        self.end();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rstest::rstest;

    use super::super::super::{Journal, JournalOptions};
    use super::*;
    use crate::journal::consumer::ConsumerName;
    use entraclaw_seams::clock::SystemClock;
    use entraclaw_seams::storage::MemoryStorage;

    #[rstest]
    #[case::as_many_as_are_remembered(0, 1)]
    #[case::one_more(1, 2)]
    #[case::some_more(7, 8)]
    fn the_newest_pushes_are_remembered(#[case] more: u64, #[case] oldest: u64) {
        let (journal, _) =
            Journal::open(Arc::new(MemoryStorage::new()), Arc::new(SystemClock), JournalOptions::default())
                .unwrap();
        let name = ConsumerName::new("claude-code").unwrap();
        let mut mailbox = journal.mailbox(&name, "session").unwrap();
        let newest = PUSHED_HERE_MAX as u64 + more;
        for seq in 1..=newest {
            mailbox.remember_pushed(seq, true);
        }
        let remembered: BTreeSet<u64> = (oldest..=newest).collect();
        assert_eq!(mailbox.known.pushed_here, remembered);
        assert_eq!(mailbox.known.first_pushed_here, remembered);
        mailbox.remember_pushed(newest + 1, false);
        assert!(mailbox.known.pushed_here.contains(&(newest + 1)));
        assert_eq!(mailbox.known.first_pushed_here, remembered, "another session had pushed that one");
    }
}
