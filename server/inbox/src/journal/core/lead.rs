//! Leadership: taking a free lead, replacing a leader that does not run, and noticing that this process was replaced.
//!
//! It must never assume that this process still leads because it led a moment ago: it may have been stopped in between.

use std::io;
use std::sync::Arc;

use super::Core;
use super::mend::Mend;
use crate::journal::error::{JournalError, Result};
use crate::journal::interaction::{Interaction, InteractionKind};
use crate::journal::keys::Keys;
use crate::journal::log::Log;
use crate::journal::options::Pulse;
use crate::journal::segment::FIRST;
use crate::journal::term::{self, Terms};
use crate::journal::writer::Writer;
use entraclaw_seams::storage::{AppendFile, Lock, Storage};

/// The lock that makes this process the leader, and its signs of running.
pub(super) struct Lead {
    _lock: Box<dyn Lock>,
    /// The file that the leader changes to show that it runs.
    beat: Option<Box<dyn AppendFile>>,
    beats: u64,
}

/// Takes the lead of the newest term if it is free, and reads the journal as its leader.
pub(super) fn take(storage: &Arc<dyn Storage>) -> io::Result<Option<(Lead, Log)>> {
    let known = Terms::load(&**storage)?.1;
    let term = term::newest(&**storage, known)?;
    match storage.try_lock(&term::lock_path(term))? {
        Some(lock) => begin(storage, term, lock),
        None => Ok(None),
    }
}

/// Reads the journal as the leader of a term whose lock is held. `None` when another process has begun the next term
/// meanwhile, because it may have put aside files that were to be read here.
fn begin(storage: &Arc<dyn Storage>, term: u64, lock: Box<dyn Lock>) -> io::Result<Option<(Lead, Log)>> {
    if term::newest(&**storage, term)? > term {
        return Ok(None);
    }
    let log = read(storage, term);
    if term::newest(&**storage, term)? > term {
        return Ok(None);
    }
    let mut log = log?;
    log.is_unsettled = false;
    Ok(Some((Lead { _lock: lock, beat: None, beats: 0 }, log)))
}

fn read(storage: &Arc<dyn Storage>, term: u64) -> io::Result<Log> {
    let mut log = Log::load(Arc::clone(storage), Some(term))?;
    if log.terms.term < term {
        log.begin_term()?;
    }
    Ok(log)
}

impl Core {
    pub(in crate::journal) fn try_lead(&mut self) -> Result<bool> {
        if self.still_leads()? || !self.options.may_lead {
            return Ok(self.is_leader());
        }
        let taken = take(&self.storage).map_err(JournalError::storage("ask for the lead"))?;
        self.lead_with(taken, "this process leads now")
    }

    pub(in crate::journal) fn give_up_lead(&mut self) {
        if self.is_leader() {
            self.follow("this process gives the lead up and follows");
        }
    }

    /// Begins the term after that of a leader that does not run.
    pub(in crate::journal) fn replace_leader(&mut self, silent: &Pulse) -> Result<bool> {
        if self.still_leads()? || !self.options.may_lead {
            return Ok(self.is_leader());
        }
        let next = || {
            if term::newest(&*self.storage, FIRST)? > silent.term {
                return Ok(None);
            }
            let term = silent.term + 1;
            match self.storage.try_lock(&term::lock_path(term))? {
                Some(lock) => begin(&self.storage, term, lock),
                None => Ok(None),
            }
        };
        let taken = next().map_err(JournalError::storage("replace a leader that does not move"))?;
        self.lead_with(taken, "this process leads now, for the one that led does not move")
    }

    fn lead_with(&mut self, taken: Option<(Lead, Log)>, detail: &str) -> Result<bool> {
        let Some((lead, log)) = taken else { return Ok(false) };
        self.log = log;
        self.lead = Some(lead);
        self.writer = Writer::default();
        self.must_reload = false;
        let settled = self.settle();
        if settled.is_err() {
            // The next leader writes into these files.
            self.log.repair = false;
            self.lead = None;
            // The leader of a newer term may have put aside files that were read here.
            if self.log.is_term_over().unwrap_or(false) {
                self.must_reload = true;
                return Ok(false);
            }
        }
        settled.map_err(JournalError::storage("read the journal as its new leader"))?;
        self.take_findings();
        self.audit(vec![Interaction::new(InteractionKind::Session).detail(detail)]);
        Ok(true)
    }

    /// Whether this process leads, read from the disk. A replaced leader becomes a follower here.
    pub(in crate::journal) fn still_leads(&mut self) -> Result<bool> {
        if !self.is_leader() {
            return Ok(false);
        }
        if self.log.is_term_over().map_err(JournalError::storage("see who leads"))? {
            self.step_down();
        }
        Ok(self.is_leader())
    }

    /// Follows after a replacement. The new leader reads from the sources again what this process has not stored.
    pub(super) fn step_down(&mut self) {
        self.follow("this process did not move and was replaced as the leader; it follows now");
    }

    fn follow(&mut self, detail: &str) {
        self.lead = None;
        self.writer = Writer::default();
        // The log may have been read anew under the other leader, which gives these places to other records.
        let settled = self.pending.front().map_or(u64::MAX, |entry| entry.record.seq - 1);
        let durable = self.log.last_seq().min(settled);
        self.pending.clear();
        self.mend = Mend::default();
        self.lost_keys.clear();
        self.keys = Keys::new(self.options.dedup_keys_max);
        self.log.repair = false;
        self.window.forget_after(durable);
        self.tally = self.log.tally;
        self.must_reload = true;
        self.stats.counts.disk_failure = None;
        self.grown.send_if_modified(|seq| std::mem::replace(seq, durable) != durable);
        self.audit(vec![Interaction::new(InteractionKind::Session).detail(detail)]);
    }

    /// Shows that this leader runs. It needs no room on the disk, so that a leader on a full disk is not replaced.
    pub(in crate::journal) fn beat(&mut self) -> Result<()> {
        let Some(lead) = &mut self.lead else { return Ok(()) };
        let (storage, path) = (&self.storage, term::beat_path(self.log.own_term));
        let mut beat = || {
            lead.beats += 1;
            let mut file = match lead.beat.take() {
                Some(file) => file,
                None => storage.append(&path, true)?,
            };
            file.truncate(lead.beats % 2)?;
            lead.beat = Some(file);
            Ok(())
        };
        beat().map_err(JournalError::storage("show that this process moves"))
    }

    /// The leader's latest sign of running, as every process sees it.
    pub(in crate::journal) fn pulse(&self) -> Result<Pulse> {
        let look = || {
            let term = term::newest(&*self.storage, self.log.terms.term)?;
            Ok(Pulse { term, beat: self.storage.stamp(&term::beat_path(term))? })
        };
        look().map_err(JournalError::storage("see whether the leader moves"))
    }

    /// The term in which this process leads, or the newest one that it knows of.
    pub(in crate::journal) fn term(&self) -> u64 {
        self.log.terms.term
    }
}
