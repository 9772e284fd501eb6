//! The state that all clones of a [`Journal`](super::Journal) share: the files, the window, leadership, and the counters.
//!
//! Every append writes the files, syncs them, and then tells the audit log, the watchers and the summary, in this order. It
//! must never show a record before the disk has it, except while the disk takes no writes, which it reports.

mod forget;
mod known;
mod lead;
mod mend;
mod prune;
mod read;

pub use forget::Removed;
pub(super) use known::made_again;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::sync::Arc;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;

use super::audit;
use super::error::{JournalError, Result};
use super::index::Tally;
use super::interaction::{Interaction, InteractionKind};
use super::keys::{self, KeyHash, Keys};
use super::ledger_file::CONSUMERS;
use super::log::{Entry, Log};
use super::losses::{Losses, ReadAgain};
use super::options::{Appended, Finding, Held, JournalOptions, JournalStats, OpenReport};
use super::segment::FIRST;
use super::segment::{INBOX, INDEXES};
use super::state::{StateFile, Witness};
use super::story;
use super::term::{self, Terms};
use super::window::Window;
use super::writer::{self, Writer};
use crate::record::{Channel, Draft, Record};
use entraclaw_seams::clock::Clock;
use entraclaw_seams::storage::Storage;
use lead::Lead;
use mend::Mend;

/// The pause between two warnings that the audit log can't be written.
const AUDIT_WARN_EVERY: SignedDuration = SignedDuration::from_hours(1);
/// The longest text of one record. The sanitiser's bound is far lower; JSON makes a text six times as long at worst, which
/// fits into a line.
const RECORD_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Neighbouring records. There is no other record up to the place `through`.
pub(super) struct Page {
    pub(super) entries: Vec<Arc<Entry>>,
    pub(super) through: u64,
}

pub(super) struct Core {
    pub(super) storage: Arc<dyn Storage>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) options: JournalOptions,
    lead: Option<Lead>,
    log: Log,
    /// The files must be read anew, because the leader was replaced during the last reading.
    must_reload: bool,
    writer: Writer,
    window: Window,
    /// The newest records of the window, which the disk has not taken yet.
    pending: VecDeque<Arc<Entry>>,
    /// Keys of messages that were dropped; these may come again once the disk takes writes. A consumer that was shown one
    /// from memory then sees it twice; the other consumers have not seen it.
    lost_keys: BTreeSet<KeyHash>,
    keys: Keys,
    /// The counts of the records in the files and in `pending`.
    tally: Tally,
    next_seq: u64,
    /// The losses of the record files; kept by the leader.
    losses: Losses,
    are_losses_unsaved: bool,
    mend: Mend,
    state: StateFile,
    grown: watch::Sender<u64>,
    /// For each open mailbox, the place up to which its consumer was shown the records of each channel.
    pub(super) readers: BTreeMap<u64, [u64; Channel::ALL.len()]>,
    readers_total: u64,
    pub(super) stats: JournalStats,
    /// When the last warning that the audit log can't be written was logged.
    audit_warned_at: Option<Timestamp>,
    audit_left_out: audit::LeftOut,
    /// [`Log::reloads`] when the tally was last taken from the log.
    counted_reloads: u64,
}

impl Core {
    pub(super) fn open(
        storage: Arc<dyn Storage>,
        clock: Arc<dyn Clock>,
        options: JournalOptions,
        grown: watch::Sender<u64>,
    ) -> Result<(Self, OpenReport)> {
        let prepare = || {
            [INBOX, INDEXES, CONSUMERS, term::FOLDER].iter().try_for_each(|dir| storage.create_dir(dir))?;
            audit::create(&*storage)?;
            if options.may_lead { lead::take(&storage) } else { Ok(None) }
        };
        let taken = prepare().map_err(JournalError::storage("prepare the journal's folders"))?;
        let (lead, log) = if let Some((lead, log)) = taken {
            (Some(lead), log)
        } else {
            // Before the files: a leader may be appending, and its newer summary may name records that are not read here.
            let witness = StateFile::new(Arc::clone(&storage)).witness();
            let mut log =
                Log::load(Arc::clone(&storage), None).map_err(JournalError::storage("read the journal"))?;
            if log.is_unsettled {
                log.forget_all();
                log.gaps.clear();
            } else if let Some(known) = witness.map(|witness| witness.last_seq()) {
                log.note_end(known);
            }
            (None, log)
        };
        let mut core = Self {
            state: StateFile::new(Arc::clone(&storage)),
            window: Window::new(Vec::new(), options.window_messages_max),
            keys: Keys::new(options.dedup_keys_max),
            storage,
            clock,
            options,
            lead,
            must_reload: log.is_unsettled,
            log,
            writer: Writer::default(),
            pending: VecDeque::new(),
            lost_keys: BTreeSet::new(),
            tally: Tally::default(),
            next_seq: 1,
            losses: Losses::default(),
            are_losses_unsaved: false,
            mend: Mend::default(),
            grown,
            readers: BTreeMap::new(),
            readers_total: 0,
            stats: JournalStats::default(),
            audit_warned_at: None,
            audit_left_out: audit::LeftOut::default(),
            counted_reloads: 0,
        };
        core.settle().map_err(JournalError::storage("read the journal"))?;
        let report = OpenReport {
            leader: core.is_leader(),
            records: core.tally.total(),
            last_seq: core.last_seq(),
            findings: core.take_findings(),
        };
        core.write_state();
        Ok((core, report))
    }

    /// Derives the window, the keys and the counters from freshly loaded files.
    fn settle(&mut self) -> io::Result<()> {
        if self.is_leader() {
            self.losses = Losses::load(&*self.storage, self.log.own_term)?;
            self.are_losses_unsaved = false;
            self.load_keys()?;
            // A place that a consumer was shown is never given again, even if its record is gone.
            let last_seen = self.state.last_seen()?;
            let known = self.state.witness().map_or(last_seen, |witness| witness.last_seq());
            let last = self.log.last_place();
            self.log.note_end(known);
            self.next_seq = last.max(last_seen).max(known) + 1;
            self.mend = Mend::beginning_at(self.next_seq);
        }
        let newest = self.log.newest(self.options.window_messages_max)?;
        self.window = Window::new(newest, self.options.window_messages_max);
        // Last, because reading may have mended files.
        self.tally = self.log.tally;
        self.counted_reloads = self.log.reloads;
        self.grown.send_if_modified(|seq| {
            let is_new = *seq != self.last_seq();
            *seq = self.last_seq();
            is_new
        });
        Ok(())
    }

    pub(super) fn held(&self, key: &str) -> Held {
        let hash = keys::hash(key);
        if !self.keys.contains(&hash) || self.lost_keys.contains(&hash) {
            return Held::Nowhere;
        }
        let waits = self.pending.iter().any(|entry| entry.record.key == key);
        if waits { Held::InMemory } else { Held::OnDisk }
    }

    fn load_keys(&mut self) -> io::Result<()> {
        let newest_first = self.log.newest_keys(self.options.dedup_keys_max)?;
        self.keys = Keys::new(self.options.dedup_keys_max);
        for key in newest_first.into_iter().rev() {
            self.keys.insert(key);
        }
        for entry in &self.pending {
            self.keys.insert(keys::hash(&entry.record.key));
        }
        for key in &self.lost_keys {
            self.keys.insert(*key);
        }
        Ok(())
    }

    pub(super) fn is_leader(&self) -> bool {
        self.lead.is_some()
    }

    pub(super) fn refresh(&mut self) -> Result<bool> {
        if self.still_leads()? {
            self.store_what_waits()?;
            return Ok(false);
        }
        let known = self.last_seq();
        let news = self.look_for_news(known).map_err(JournalError::storage("look for new messages"))?;
        for entry in news {
            self.mend.came(entry.record.seq);
            self.show(entry);
        }
        self.take_findings();
        if self.last_seq() == known {
            return Ok(false);
        }
        self.grown.send_replace(self.last_seq());
        Ok(true)
    }

    /// The records that the leader has appended after `known`, without any that a replaced leader may have written.
    fn look_for_news(&mut self, known: u64) -> io::Result<Vec<Arc<Entry>>> {
        if self.must_reload || self.log.is_outdated()? {
            self.must_reload = true;
            if term::newest(&*self.storage, FIRST)? > Terms::load(&*self.storage)?.0.term {
                return Ok(Vec::new());
            }
            self.log.reload()?;
        } else {
            self.log.follow()?;
        }
        self.recount();
        let mut news = Vec::new();
        let mut at = known;
        while let Some(chunk) = self.log.chunk_after(at, &|_, _| true)? {
            at = chunk.through;
            news.extend(chunk.entries.iter().filter(|entry| entry.record.seq > known).cloned());
        }
        // If the log is still current after reading, the records were written before a newer term began.
        self.must_reload = self.log.is_unsettled || self.log.is_outdated()?;
        Ok(if self.must_reload { Vec::new() } else { news })
    }

    pub(super) fn is_settled(&self) -> bool {
        self.is_leader() && self.pending.is_empty() && !self.mend.is_due()
    }

    pub(super) fn append(&mut self, drafts: Vec<Draft>) -> Result<Appended> {
        if !self.still_leads()? {
            return Err(JournalError::NotLeader);
        }
        if !drafts.is_empty() {
            self.mend_newest();
        }
        if !self.is_leader() {
            return Err(JournalError::NotLeader);
        }
        let mut appended = Appended::default();
        let mut refused = Vec::new();
        // These were dropped while the disk took no writes. If this call stores them, the caller moves its cursor past them.
        let mut again = Vec::new();
        let received_at = format!("{:.3}", self.clock.now());
        for draft in drafts {
            let key = keys::hash(&draft.key);
            if !self.keys.insert(key) {
                if self.lost_keys.contains(&key) {
                    again.push(draft);
                } else {
                    appended.duplicates += 1;
                }
                continue;
            }
            let bytes = draft.text_bytes();
            let mut record = Record::from_draft(draft, self.next_seq, received_at.clone());
            record.restored = record.ts.parse().is_ok_and(|written| self.losses.may_have_had(written));
            if bytes > RECORD_BYTES_MAX {
                // An oversized record must not stop the others. Its key stays known, so that it does not come again.
                self.stats.counts.dropped_total += 1;
                refused.push(lost(&record, &format!("lost: {bytes} bytes are more than {RECORD_BYTES_MAX}")));
                continue;
            }
            if record.restored {
                self.losses.count_restored(1);
                self.are_losses_unsaved = true;
            }
            appended.new.push(record.clone());
            self.take_in(record);
        }
        self.audit(refused);
        self.store()?;
        // Storing has emptied `lost_keys`, so this ends.
        if !again.is_empty() {
            let late = self.append(again)?;
            appended.new.extend(late.new);
            appended.duplicates += late.duplicates;
        }
        Ok(appended)
    }

    /// Puts a record at the end of those that wait for the disk.
    fn take_in(&mut self, record: Record) {
        self.next_seq += 1;
        let prev = self.tally.add(record.channel, record.seq);
        let entry = Arc::new(Entry { record, prev });
        self.pending.push_back(Arc::clone(&entry));
        self.show(entry);
    }

    /// Puts a record into the window, and counts the record that leaves it if a reader was not shown that one, or if there
    /// is no reader.
    fn show(&mut self, entry: Arc<Entry>) {
        let Some(out) = self.window.push(entry) else { return };
        let channel = out.record.channel.index();
        let mut readers = self.readers.values();
        if readers.len() == 0 || readers.any(|got| got[channel] < out.record.seq) {
            self.stats.counts.spilled_total += 1;
        }
    }

    /// Writes the pending records to the disk, then tells the audit log, the watchers and the summary.
    fn store(&mut self) -> Result<()> {
        // Records that are written again from memory have arrived before.
        let arrived: Vec<_> =
            self.pending.iter().filter(|e| self.mend.is_news(e.record.seq)).cloned().collect();
        let waiting: Vec<Interaction> = arrived.iter().map(|e| Interaction::inbound(&e.record)).collect();
        let stored = self.write_pending();
        if stored.as_ref().is_err_and(writer::is_outdated) {
            self.step_down();
            return Err(JournalError::NotLeader);
        }
        let mut events = Vec::new();
        match &stored {
            Ok(()) => {
                for entry in &arrived {
                    story::arrived(&entry.record);
                    self.mend.arrived(entry.record.seq);
                }
                events.extend(waiting);
                if self.stats.counts.disk_failure.take().is_some() {
                    events.push(Interaction::fault("the disk takes writes again"));
                }
                for key in std::mem::take(&mut self.lost_keys) {
                    self.keys.forget(&key);
                }
                if self.are_losses_unsaved {
                    self.save_losses();
                }
            }
            Err(error) => {
                if self.stats.counts.disk_failure.replace(error.to_string()).is_none() {
                    events.push(Interaction::fault(format!("the disk takes no writes: {error}")));
                }
                events.extend(self.drop_beyond_window());
            }
        }
        self.take_findings();
        self.audit(events);
        self.grown.send_if_modified(|seq| std::mem::replace(seq, self.last_seq()) != self.last_seq());
        self.write_state();
        stored
            .map_err(|error| JournalError::NotDurable { held: self.pending.len(), reason: error.to_string() })
    }

    fn write_pending(&mut self) -> io::Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        if self.mend.is_unread() {
            return Err(io::Error::other("the journal's files were touched and can't be read"));
        }
        let written = match self.write_pending_once() {
            // The second try uses another file, which does not help on a full disk.
            Err(error) if error.kind() != io::ErrorKind::StorageFull && !writer::is_outdated(&error) => {
                self.write_pending_once()
            }
            written => written,
        };
        if written.is_ok() {
            self.pending.clear();
            self.log.checkpoint();
        }
        written
    }

    fn write_pending_once(&mut self) -> io::Result<()> {
        let today = self.clock.now().to_zoned(TimeZone::UTC).date();
        let entries = self.pending.iter().map(|entry| &**entry);
        self.writer.append(&mut self.log, today, self.options.segment_bytes_max, entries)
    }

    /// Drops the oldest pending records beyond the window's size; without a disk these are lost.
    fn drop_beyond_window(&mut self) -> Vec<Interaction> {
        let mut dropped = Vec::new();
        while self.pending.len() > self.options.window_messages_max
            && let Some(gone) = self.pending.pop_front()
        {
            self.tally.count[gone.record.channel.index()] -= 1;
            self.stats.counts.dropped_total += 1;
            let key = keys::hash(&gone.record.key);
            if self.lost_keys.len() < self.options.dedup_keys_max {
                self.lost_keys.insert(key);
            }
            dropped.push(lost(&gone.record, "lost: the disk takes no writes"));
        }
        dropped
    }

    pub(super) fn stats(&self) -> JournalStats {
        JournalStats {
            leader: self.is_leader(),
            records: self.tally.total(),
            last_seq: self.last_seq(),
            durable_seq: self.durable_seq(),
            window_messages: self.window.len(),
            ..self.stats.clone()
        }
    }

    pub(super) fn audit(&mut self, interactions: Vec<Interaction>) {
        if interactions.is_empty() {
            return;
        }
        let now = self.clock.now();
        let bytes_max = self.options.audit_day_bytes_max;
        let failed = audit::write(&self.storage, now, bytes_max, &mut self.audit_left_out, interactions);
        let Some((lines, error)) = failed else { return };
        self.stats.counts.interactions_failed_total += lines;
        self.stats.counts.interactions_failure = Some(error.to_string());
        let warned = self.audit_warned_at.map(|at| now.duration_since(at).abs());
        if warned.is_none_or(|ago| ago >= AUDIT_WARN_EVERY) {
            self.audit_warned_at = Some(now);
            let lost = self.stats.counts.interactions_failed_total;
            tracing::warn!(%error, lost, "the audit log can't be written; make the folder interactions/ writable");
        }
    }

    /// The range that a source must read again if it has dealt with the losses up to `done`.
    pub(super) fn to_read_again(&self, done: Option<Timestamp>) -> Option<ReadAgain> {
        self.losses.to_read_again(done)
    }

    /// Counts the findings of the last reading, and writes them to the audit log if this process leads.
    fn take_findings(&mut self) -> Vec<Finding> {
        self.note_losses();
        let findings = std::mem::take(&mut self.log.findings);
        for finding in &findings {
            if let Finding::Damaged { pieces, .. } = finding {
                self.stats.counts.damaged_total += pieces;
            }
        }
        if self.is_leader() {
            self.audit(findings.iter().map(|finding| Interaction::fault(finding.to_string())).collect());
        }
        findings
    }

    /// Writes the summary. A failure is ignored, because the summary can be derived again.
    pub(super) fn write_state(&mut self) {
        let last_id = self.window.newest().map(|entry| entry.record.id.clone());
        let witness = self.is_settled().then(|| self.witness());
        let (log, tally, window) = (&mut self.log, &self.tally, &self.window);
        let unread_after = |seq: u64| {
            let after = |channel: Channel| {
                if window.reaches(seq) {
                    return window.count_after(channel, seq);
                }
                let rank = log.rank(channel, seq).unwrap_or(0);
                tally.count[channel.index()].saturating_sub(rank)
            };
            Channel::ALL.into_iter().map(after).sum()
        };
        let _ = self.state.write(last_id, witness, unread_after);
        self.recount();
    }

    /// The newest places that the disk has.
    fn witness(&self) -> Witness {
        let last = self.window.newest().map(|entry| &entry.record);
        let at = |text: &String| text.parse().ok();
        Witness {
            last_places: Channel::ALL.map(|channel| self.tally.last[channel.index()]),
            last_at: last.and_then(|last| at(&last.ts).max(at(&last.received_at))),
        }
    }

    /// Fails if there is no room for another consumer.
    pub(super) fn admit_consumer(&mut self) -> Result<()> {
        let max = self.options.consumers_max;
        let there = self.state.consumers().map_err(JournalError::storage("count the consumers"))?;
        if there < max { Ok(()) } else { Err(JournalError::TooManyConsumers { max }) }
    }

    pub(super) fn register_reader(&mut self) -> u64 {
        self.readers_total += 1;
        self.readers_total
    }
}

/// The audit log's entry for a message that is lost.
fn lost(record: &Record, why: &str) -> Interaction {
    Interaction { kind: InteractionKind::Dropped, ..Interaction::inbound(record).detail(why) }
}
