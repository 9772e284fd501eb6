//! What a carrier needs that pushes: to know what is new, to be the only one that pushes a record, and what the dead left.
//! It must never retire a record.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;

use super::{Mailbox, Note, Span, joined, ledger_file, span_of};
use crate::journal::error::Result;
use crate::record::Record;

/// How long before a session begins the dead may have been given what it is pushed: who is opened in the place of one
/// that died is told, and nobody is woken by the last message of yesterday.
const TOLD_OF_BEFORE: SignedDuration = SignedDuration::from_hours(1);
/// Records that are taken over from the dead at a time; the rest is left for the next look.
const TAKEN_OVER_MAX: usize = 32;
/// Records whose push is remembered; one that was forgotten may be pushed again, marked.
const PUSHED_HERE_MAX: usize = 1_024;

/// What a session knows of the others that died.
#[derive(Default)]
pub(super) struct Graves {
    /// What the dead held already when this session began, and for long: it is left to the hook and to the next pull.
    older: BTreeSet<u64>,
    /// What this session pushed itself.
    pushed_here: BTreeSet<u64>,
}

impl Mailbox {
    /// Whether the consumer was never shown this record by any way.
    pub fn is_new(&mut self, seq: u64) -> Result<bool> {
        self.refresh()?;
        let Some(entry) = self.journal.core().entry(seq)? else { return Ok(false) };
        let (channel, ledger) = (entry.record.channel, self.file.ledger());
        Ok(!ledger.shown.has(channel, seq) && !ledger.pushed.has(channel, seq))
    }

    /// Marks a record as pushed if the consumer was never shown it by any way, and says whether it did. Of several
    /// sessions that ask, one gets it. Call it before the push is sent; from then on the record comes marked `pushed`.
    pub fn claim_push(&mut self, seq: u64) -> Result<bool> {
        // Most of a backlog is known, and that costs no lock.
        if !self.is_new(seq)? {
            return Ok(false);
        }
        let Some(entry) = self.journal.core().entry(seq)? else { return Ok(false) };
        let _lock = self.begin()?;
        let span = span_of(&entry);
        let ledger = self.file.ledger();
        let known = [&ledger.shown, &ledger.pushed, &ledger.acked].iter().any(|set| set.has(span.0, seq));
        if !known {
            self.note(Note::Push { spans: vec![span] });
            self.remember_pushed(seq);
        }
        self.end();
        Ok(!known)
    }

    /// Whether there is something to take over.
    pub fn has_left(&mut self) -> Result<bool> {
        self.refresh()?;
        Ok(!self.held_by_the_dead().is_empty())
    }

    /// Takes over what other sessions of the consumer were given and took to their graves, lately or since this one
    /// began, for a push with the mark of a repetition, which must be sent: of several sessions that ask, one gets it. It
    /// stays unread. `fits` says how many of these, from the first on, one push can bring. What this session has pushed
    /// itself is left to the next pull.
    pub fn take_over(&mut self, fits: &dyn Fn(&[Record]) -> usize) -> Result<Vec<Record>> {
        if !self.has_left()? {
            return Ok(Vec::new());
        }
        let _lock = self.begin()?;
        let mut records = Vec::new();
        let mut left: BTreeMap<u16, Vec<Span>> = BTreeMap::new();
        let mut pushes = Vec::new();
        for (seq, (slot, span)) in self.held_by_the_dead().into_iter().take(TAKEN_OVER_MAX) {
            let entry = self.journal.core().entry(seq)?;
            match entry.filter(|_| !self.graves.pushed_here.contains(&seq)) {
                Some(entry) => {
                    records.push(entry.record.clone());
                    pushes.push((slot, span));
                }
                None => left.entry(slot).or_default().push(span),
            }
        }
        records.truncate(fits(&records));
        pushes.truncate(records.len());
        for (slot, span) in &pushes {
            left.entry(*slot).or_default().push(*span);
        }
        for (slot, spans) in left {
            self.note(Note::GiveBack { slot, spans });
        }
        if !pushes.is_empty() {
            self.note(Note::Push { spans: joined(pushes.into_iter().map(|(_, span)| span).collect()) });
        }
        for record in &records {
            self.remember_pushed(record.seq);
        }
        self.end();
        Ok(records)
    }

    /// Whether the consumer has this record, or a living session of it holds it.
    pub fn is_spoken_for(&mut self, seq: u64) -> Result<bool> {
        self.refresh()?;
        let Some(entry) = self.journal.core().entry(seq)? else { return Ok(true) };
        Ok(self.file.ledger().acked.has(entry.record.channel, seq) || self.held().contains_key(&seq))
    }

    /// Whether another session, alive or dead, holds something since this one began, as far as the last look showed.
    pub fn others_hold(&self) -> bool {
        let slots = self.file.ledger().slots.iter().filter(|(slot, _)| **slot != self.slot);
        slots.flat_map(|(_, what)| what.held.iter()).any(|(seq, _)| !self.graves.older.contains(seq))
    }

    /// By place: the slot of a dead session that holds it still.
    fn held_by_the_dead(&self) -> BTreeMap<u64, (u16, Span)> {
        let slots = self.file.ledger().slots.iter();
        let others = slots.filter(|(slot, what)| **slot != self.slot && !what.held.is_empty());
        let dead =
            others.filter(|(slot, _)| !ledger_file::slot_is_taken(&*self.storage, &self.consumer, **slot));
        let held =
            dead.flat_map(|(slot, what)| what.held.iter().map(|(seq, held)| (*seq, (*slot, held.span))));
        held.filter(|(seq, _)| !self.graves.older.contains(seq)).collect()
    }

    /// Remembers what the dead have held for long at the beginning of this session.
    pub(super) fn pass_by_older_graves(&mut self) {
        let now = self.journal.core().clock.now();
        let is_late = |at| now.duration_since(at).abs() <= TOLD_OF_BEFORE;
        let dead = self.held_by_the_dead();
        let slots = &self.file.ledger().slots;
        let given_at = |slot: &u16, seq: &u64| slots.get(slot)?.held.get(seq)?.at;
        let older = dead.iter().filter(|(seq, (slot, _))| !given_at(slot, seq).is_some_and(is_late));
        self.graves.older = older.map(|(seq, _)| *seq).collect();
    }

    fn remember_pushed(&mut self, seq: u64) {
        self.graves.pushed_here.insert(seq);
        if self.graves.pushed_here.len() > PUSHED_HERE_MAX {
            self.graves.pushed_here.pop_first();
        }
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
