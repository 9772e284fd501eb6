//! What a carrier needs that pushes: to know what is new, to be the only one that pushes a record, and what the dead left.
//! It must never retire a record.

use std::collections::{BTreeMap, BTreeSet};

use super::{Mailbox, Note, Span, joined, span_of};
use crate::journal::error::Result;
use crate::journal::graves;
use crate::journal::ledger::Held;
use crate::record::Record;

/// Records that are taken over from the dead at a time; the rest is left for the next look.
const TAKEN_OVER_MAX: usize = 32;
/// Records whose push is remembered; one that was forgotten may be pushed again, marked.
const PUSHED_HERE_MAX: usize = 1_024;

/// What a session knows of the others that died.
#[derive(Default)]
pub(super) struct Known {
    /// What the dead held already when this session began, and for long: it is left to the hook and to the next pull.
    older: BTreeSet<u64>,
    /// What this session pushed itself.
    pushed_here: BTreeSet<u64>,
    /// Of these, what nobody had pushed before.
    first_pushed_here: BTreeSet<u64>,
    /// What this session has pushed in vain, and does not take over again.
    withdrawn_here: BTreeSet<u64>,
}

impl Mailbox {
    /// Whether the consumer was never shown this record by any way.
    pub fn is_new(&mut self, seq: u64) -> Result<bool> {
        self.refresh()?;
        let Some(entry) = self.journal.core().entry(seq)? else { return Ok(false) };
        if !entry.record.is_for(self.consumer.as_str()) {
            return Ok(false);
        }
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
            self.note(Note::Push { spans: vec![span], graves: Vec::new() });
            self.remember_pushed(seq, true);
        }
        self.end();
        Ok(!known)
    }

    /// The pushes of these records surely showed nothing: each is as if this session had never pushed it, and comes by
    /// another way without the mark. What another session has pushed before keeps it.
    pub fn withdraw_pushes(&mut self, seqs: &[u64]) -> Result<()> {
        let seqs: Vec<u64> =
            seqs.iter().copied().filter(|seq| self.known.first_pushed_here.contains(seq)).collect();
        if seqs.is_empty() {
            return Ok(());
        }
        let _lock = self.begin()?;
        let mut spans = Vec::new();
        for seq in seqs {
            let entry = self.journal.core().entry(seq)?;
            spans.extend(entry.map(|entry| span_of(&entry)));
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

    /// Whether there is something to take over.
    pub fn has_left(&mut self) -> Result<bool> {
        self.refresh()?;
        Ok(!self.to_push_again().is_empty())
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
            let graves: BTreeSet<u16> = pushes.iter().map(|(slot, _)| *slot).collect();
            let spans = joined(pushes.into_iter().map(|(_, span)| span).collect());
            self.note(Note::Push { spans, graves: graves.into_iter().collect() });
        }
        for (record, is_first) in records.iter().zip(is_first) {
            self.remember_pushed(record.seq, is_first);
        }
        self.end();
        Ok(records)
    }

    fn to_push_again(&self) -> BTreeMap<u64, (u16, Held)> {
        let mut held = self.held_by_the_dead();
        held.retain(|seq, (_, held)| !held.is_pushed_again && !self.known.withdrawn_here.contains(seq));
        held
    }

    /// Whether the consumer has this record, or a living session of it holds it.
    pub fn is_spoken_for(&mut self, seq: u64) -> Result<bool> {
        self.refresh()?;
        let Some(entry) = self.journal.core().entry(seq)? else { return Ok(true) };
        let is_anothers = !entry.record.is_for(self.consumer.as_str());
        let has_it = self.file.ledger().acked.has(entry.record.channel, seq);
        Ok(is_anothers || has_it || self.held().contains_key(&seq))
    }

    /// Whether another session, alive or dead, holds something since this one began that was not pushed again, as far as
    /// the last look showed.
    pub fn others_hold(&self) -> bool {
        let slots = self.file.ledger().slots.iter().filter(|(slot, _)| **slot != self.slot);
        let mut held = slots.flat_map(|(_, what)| what.held.iter());
        // What another one has announced waits for this one when that session dies.
        let announces = self.file.ledger().announced.is_some_and(|announced| announced.slot != self.slot);
        let is_ours = |seq: &u64| self.known.older.contains(seq) || self.known.withdrawn_here.contains(seq);
        announces || held.any(|(seq, held)| !held.is_pushed_again && !is_ours(seq))
    }

    /// By place: the slot of a dead session that holds it still.
    pub(super) fn held_by_the_dead(&self) -> BTreeMap<u64, (u16, Held)> {
        let ledger = self.file.ledger();
        let mut held = graves::held_by_the_dead(&*self.storage, &self.consumer, ledger, Some(self.slot));
        held.retain(|seq, _| !self.known.older.contains(seq));
        held
    }

    /// Remembers what the dead have held for long at the beginning of this session.
    pub(super) fn pass_by_older_graves(&mut self) {
        let now = self.journal.core().clock.now();
        let older = self.held_by_the_dead().into_iter().filter(|(_, (_, held))| !graves::is_late(*held, now));
        self.known.older = older.map(|(seq, _)| seq).collect();
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
            self.note(Note::Show { spans: joined(spans), graves: Vec::new() });
        }
        self.end();
        Ok(())
    }
}
