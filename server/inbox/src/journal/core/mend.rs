//! Damage and loss of the journal's files: a leader looks for it, notes it, and writes again the records that it has in
//! memory; a follower reports it until the leader has noted it.
//!
//! It must never give a message a place twice, never put one before messages that a consumer may have been
//! shown, and never count a record as lost that only another process has not written yet.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use jiff::Timestamp;

use super::Core;
use crate::journal::error::{JournalError, Result};
use crate::journal::interaction::Interaction;
use crate::journal::intervals::Intervals;
use crate::journal::keys;
use crate::journal::ledger::{Marks, Span, joined};
use crate::journal::log::Entry;
use crate::journal::losses::{Loss, Losses};
use crate::journal::options::Finding;
use crate::record::{Channel, Record};

/// Gaps that are reported one by one. A follower keeps no more of them.
const GAPS_MAX: usize = 100;

/// Known damage that is not mended yet.
#[derive(Default)]
pub(super) struct Mend {
    /// Files were changed, and reading them anew has not succeeded yet; the place up to which the disk had all records.
    unread: Option<u64>,
    /// Lost records of the window after the last one in the files. They are written again at their places.
    tail: Vec<Arc<Entry>>,
    /// Lost records of the window before others in the files. They get new places at the end.
    amid: Vec<Arc<Entry>>,
    /// The place up to which arrivals were written to the audit log.
    arrived_through: u64,
    /// The places that a follower found in no file, and when it found the first.
    met: Intervals,
    met_at: Option<Timestamp>,
}

impl Mend {
    /// No damage is known, and the next record gets this place.
    pub(super) fn beginning_at(next_seq: u64) -> Self {
        Self { arrived_through: next_seq.saturating_sub(1), ..Self::default() }
    }

    /// Whether the leader has files to read again or records to write again.
    pub(super) fn is_due(&self) -> bool {
        self.unread.is_some() || !self.tail.is_empty() || !self.amid.is_empty()
    }

    /// Whether changed files have not been read again yet.
    pub(super) fn is_unread(&self) -> bool {
        self.unread.is_some()
    }

    /// Whether the arrival of this record was not written to the audit log yet.
    pub(super) fn is_news(&self, seq: u64) -> bool {
        seq > self.arrived_through
    }

    pub(super) fn arrived(&mut self, seq: u64) {
        self.arrived_through = self.arrived_through.max(seq);
    }

    /// Notes that a follower has read a record that it had missed.
    pub(super) fn came(&mut self, seq: u64) {
        self.met.remove(seq, seq);
    }
}

impl Core {
    /// Makes the leader check whether another program has changed the files. It reads only changed files.
    pub(in crate::journal) fn look_at_files(&mut self) -> Result<()> {
        if !self.still_leads()? {
            return Ok(());
        }
        self.mend_touched(false).map_err(JournalError::storage("look at the journal's files"))?;
        self.store_what_waits()
    }

    /// Stores the pending records, after it has checked the file that they go to.
    pub(super) fn store_what_waits(&mut self) -> Result<()> {
        if self.pending.is_empty() && !self.mend.is_due() {
            return Ok(());
        }
        self.mend_newest();
        if self.pending.is_empty() { Ok(()) } else { self.store() }
    }

    /// Makes sure that the next record is written after all records in the files.
    pub(super) fn mend_newest(&mut self) {
        // A failure is reported by `write_pending`, which writes nothing while the files can't be read.
        let _ = self.mend_touched(true);
        self.bring_back();
    }

    fn mend_touched(&mut self, newest_alone: bool) -> io::Result<()> {
        let touched = self.log.touched(newest_alone)?;
        if touched.is_empty() && self.mend.unread.is_none() {
            return Ok(());
        }
        // A process that replaces the leader puts the leader's file aside, which looks like a change.
        if self.log.is_term_over()? {
            self.step_down();
            return Ok(());
        }
        let known = self.log.last_place().max(self.mend.unread.unwrap_or(0));
        self.mend.unread = Some(known);
        self.log.distrusted.extend(touched);
        self.log.reload()?;
        self.log.note_end(known);
        self.mend.unread = None;
        if self.log.is_term_over()? {
            self.step_down();
            return Ok(());
        }
        self.recount();
        Ok(())
    }

    /// Notes which places are in no file, before anything is read again. A follower leaves that to the
    /// leader, and reports the gaps until then.
    pub(super) fn note_losses(&mut self) {
        let gaps: Intervals = std::mem::take(&mut self.log.gaps).into_iter().collect();
        if gaps.iter().next().is_none() {
            return;
        }
        // Without the newest notes, more losses are reported than necessary.
        let _ = self.state.refresh();
        if !self.is_leader() {
            return self.meet(&gaps);
        }
        let gaps = self.losses.unknown(gaps.iter());
        let Some((first, _)) = gaps.iter().next() else { return };
        let witness = self.state.witness();
        let is_wanted = gaps.iter().any(|gap| self.state.is_wanted(gap, witness.as_ref()));
        let until = witness.and_then(|witness| witness.last_at);
        // A gap before the first file that no consumer misses may be records that an older version deleted.
        let is_told = is_wanted || first > 1;
        let mut lost = gaps.clone();
        let rewritten = self.find_in_memory(&mut lost);
        let left: Vec<(u64, u64)> = lost.iter().collect();
        let before = left.first().map_or(first, |(from, _)| *from);
        let since = self.log.written_before(before).unwrap_or_default().or_else(|| self.log.floor.ends());
        let since = since.map(|since| since.min(self.clock.now()));
        self.losses.note(Loss { at: self.clock.now(), since, until, gaps: left, rewritten, is_wanted });
        self.save_losses();
        if is_told {
            let missing = gaps.iter().map(|(from_seq, to_seq)| Finding::Missing { from_seq, to_seq });
            self.log.findings.extend(missing.take(GAPS_MAX));
        }
        // A message that is known by its key alone counts as new again.
        let _ = self.load_keys();
    }

    /// Finds the lost records that the window still has. Those after all records of the files keep their
    /// places, which then do not count as lost; returns how many they are.
    fn find_in_memory(&mut self, lost: &mut Intervals) -> u64 {
        let last = self.log.last_place();
        let waiting_from = self.pending.front().map_or(u64::MAX, |entry| entry.record.seq);
        let is_found = |entry: &&Arc<Entry>| {
            let seq = entry.record.seq;
            seq < waiting_from && lost.contains(seq)
        };
        let found = self.window.after(0).filter(is_found).cloned();
        let (tail, amid): (Vec<_>, Vec<_>) = found.partition(|entry| entry.record.seq > last);
        if let (Some(first), Some(last)) = (tail.first(), tail.last()) {
            // The window has no gaps: a place that it lacks in between was in no file.
            lost.remove(first.record.seq, last.record.seq);
        }
        let rewritten = tail.len() as u64;
        self.mend.tail.extend(tail);
        self.mend.amid.extend(amid);
        rewritten
    }

    /// Puts the records that were found in memory among those that wait for the disk.
    pub(super) fn bring_back(&mut self) {
        let (tail, amid) = (std::mem::take(&mut self.mend.tail), std::mem::take(&mut self.mend.amid));
        if tail.is_empty() && amid.is_empty() {
            return;
        }
        let count = tail.len() + amid.len();
        let detail = format!("{count} messages that no file had were in memory and are written again");
        let newer = std::mem::take(&mut self.pending);
        self.pending = tail.into_iter().chain(newer).collect::<VecDeque<_>>();
        self.tally = self.log.tally;
        for entry in &self.pending {
            self.tally.add(entry.record.channel, entry.record.seq);
            self.keys.insert(keys::hash(&entry.record.key));
        }
        self.window.forget_all(|seq| amid.iter().any(|entry| entry.record.seq == seq));
        for entry in amid {
            let key = keys::hash(&entry.record.key);
            // The source may have sent the message again meanwhile. And a message that every consumer has
            // must not come again from the source either.
            if self.keys.insert(key) && self.state.is_missed(entry.record.channel, entry.record.seq) {
                self.come_again(&entry.record);
            }
        }
        self.audit(vec![Interaction::fault(detail)]);
    }

    /// Gives a message a new place at the end, marked: a consumer may have been shown it at its old place,
    /// and later messages since.
    fn come_again(&mut self, record: &Record) {
        let received_at = format!("{:.3}", self.clock.now());
        let record =
            Record { seq: self.next_seq, after: None, restored: true, received_at, ..record.clone() };
        self.losses.count_restored(1);
        self.are_losses_unsaved = true;
        self.take_in(record);
    }

    /// The losses that the leader has noted, with the gaps that this process has met and that a consumer
    /// misses.
    pub(in crate::journal) fn losses(&mut self) -> Losses {
        if self.is_leader() {
            return self.losses.clone();
        }
        let noted = Losses::load(&*self.storage, self.log.terms.term).unwrap_or_default();
        let Some(met_at) = self.mend.met_at else { return noted };
        let _ = self.state.refresh();
        let witness = self.state.witness();
        let met = noted.unknown(self.mend.met.iter());
        let is_wanted = met.iter().any(|gap| self.state.is_wanted(gap, witness.as_ref()));
        if is_wanted { noted.with_met(&met, met_at) } else { noted }
    }

    /// Notes, as a follower, the gaps that the leader has not noted.
    fn meet(&mut self, gaps: &Intervals) {
        let noted = Losses::load(&*self.storage, self.log.terms.term).unwrap_or_default();
        for (from, to) in noted.unknown(gaps.iter()).iter().take(GAPS_MAX) {
            self.mend.met_at.get_or_insert(self.clock.now());
            self.mend.met.insert(from, to);
        }
    }

    /// Corrects an acknowledgement where files have lost records. A span reaches back to the message before
    /// it in its channel, so it may include a place that the leader has not noted or filled yet. A consumer
    /// that acknowledged this place would never get the message there. A noted place gets no message again,
    /// so it must hold no consumer back.
    pub(in crate::journal) fn settle_spans(&self, spans: Vec<Span>, acked: &Marks) -> Vec<Span> {
        let has_holes = || Channel::ALL.into_iter().any(|channel| acked.of(channel).iter().nth(1).is_some());
        let noted = if self.is_leader() {
            Cow::Borrowed(&self.losses)
        } else if self.mend.met_at.is_some() || has_holes() {
            Cow::Owned(Losses::load(&*self.storage, self.log.terms.term).unwrap_or_default())
        } else {
            return spans;
        };
        let open = noted.unknown(self.mend.met.iter());
        let settled = noted.places();
        let mut left = Vec::new();
        for Span(channel, from, to) in spans {
            let places = Intervals::from_iter([(from, to)]).without(&open);
            left.extend(places.iter().map(|(from, to)| Span(channel, from, to)));
        }
        for channel in Channel::ALL {
            let mut places = acked.of(channel).clone();
            for Span(_, from, to) in left.iter().filter(|span| span.0 == channel) {
                places.insert(*from, *to);
            }
            loop {
                let next = places.through() + 1;
                let Some((_, to)) = settled.iter().find(|(from, to)| (*from..=*to).contains(&next)) else {
                    break;
                };
                places.insert(next, to);
                left.push(Span(channel, next, to));
            }
        }
        joined(left)
    }

    /// Writes the losses. If that fails, they still count, and are written with the next records.
    pub(super) fn save_losses(&mut self) {
        self.are_losses_unsaved = self.losses.save(&*self.storage, self.log.own_term).is_err();
    }
}
