//! A read-only view of the journal for `entraclaw status`, `inbox` and `doctor`.
//!
//! It must never change anything: no file, no lock, no cursor of a consumer.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::consumer::ConsumerName;
use super::delivery::Handed;
use super::index::Tally;
use super::ledger::Ledger;
use super::ledger_file::{CONSUMERS, LedgerFile};
use super::log::{Entry, Log};
use super::losses::Losses;
use super::options::Finding;
use super::segment::INBOX;
use super::state::StateFile;
use crate::record::{Channel, Record};
use entraclaw_seams::storage::Storage;

/// A read-only view of the journal of one home folder.
pub struct Look {
    log: Log,
    ledgers: BTreeMap<ConsumerName, LedgerFile>,
    kept_aside: Vec<String>,
    losses: Losses,
}

impl Look {
    /// Reads indexes and consumers' files.
    pub fn at(storage: &Arc<dyn Storage>) -> io::Result<Self> {
        // Before the files: a leader may be appending, and its newer summary may name records that are not read here.
        let witness = StateFile::new(Arc::clone(storage)).witness();
        let mut log = Log::load(Arc::clone(storage), None)?;
        if let Some(known) = witness.map(|witness| witness.last_seq()) {
            log.note_end(known);
        }
        let mut ledgers = BTreeMap::new();
        for name in storage.list(CONSUMERS)?.iter().filter_map(|name| LedgerFile::consumer_of(name)) {
            let mut file = LedgerFile::new(Arc::clone(storage), &name);
            file.refresh()?;
            ledgers.insert(name, file);
        }
        let is_aside = |name: &String| name.contains(".jsonl.torn") || name.contains(".jsonl.damaged");
        let mut kept_aside: Vec<String> = storage.list(INBOX)?.into_iter().filter(is_aside).collect();
        kept_aside.extend(storage.list(CONSUMERS)?.into_iter().filter(is_aside));
        let losses = Losses::load(&**storage, log.terms.term)?;
        Ok(Self { log, ledgers, kept_aside, losses })
    }

    /// The number of records that can be read.
    pub fn records(&self) -> u64 {
        self.log.tally.total()
    }

    /// The size of the record files in bytes.
    pub fn bytes(&self) -> u64 {
        self.log.segments.iter().map(|segment| segment.index.len).sum()
    }

    /// The day on which the journal begins, when there is a record: that of its first file, or that on which its first
    /// message was written, where a clock that was wrong has begun the file.
    pub fn begins(&mut self) -> io::Result<Option<String>> {
        let Some(first) = self.log.segments.first() else { return Ok(None) };
        let (day, end) = (first.name.day(), first.index.blocks[0].first_seq.saturating_add(1));
        let written = self.log.written_before(end)?.map(|at| at.to_zoned(TimeZone::UTC).date());
        Ok(Some(written.map_or(day, |written| written.min(day)).to_string()))
    }

    /// Damage found by this view, without that which only a leader may mend or sync, and without known losses.
    pub fn damage(&self) -> Vec<String> {
        let damaged = self.log.findings.iter().filter(|finding| matches!(finding, Finding::Damaged { .. }));
        let gaps = self.losses.unknown(self.log.gaps.iter().copied());
        let missing = gaps.iter().map(|(from_seq, to_seq)| Finding::Missing { from_seq, to_seq });
        damaged.map(ToString::to_string).chain(missing.map(|missing| missing.to_string())).collect()
    }

    /// The number of missing messages that no leader has noted yet.
    pub fn missing(&self) -> u64 {
        let gaps = self.losses.unknown(self.log.gaps.iter().copied());
        gaps.iter().map(|(from, to)| to - from + 1).sum()
    }

    /// The losses of the record files that a leader has noted.
    pub fn losses(&self) -> &Losses {
        &self.losses
    }

    /// Files with pieces that an earlier repair could not read, kept for the operator.
    pub fn kept_aside(&self) -> &[String] {
        &self.kept_aside
    }

    /// All consumers.
    pub fn consumers(&self) -> Vec<ConsumerName> {
        self.ledgers.keys().cloned().collect()
    }

    /// When a consumer was last active, to about an hour.
    pub fn seen_at(&self, consumer: &ConsumerName) -> Option<Timestamp> {
        self.ledgers.get(consumer)?.ledger().seen_at
    }

    /// The consumer that was active last. The consumer `but`, which belongs to no agent, counts only if it is the only one.
    pub fn last_seen(&self, but: &str) -> Option<ConsumerName> {
        let agents = self.ledgers.keys().filter(|name| name.as_str() != but);
        agents.max_by_key(|name| self.seen_at(name)).or(self.ledgers.keys().next()).cloned()
    }

    /// The number of records that a consumer has not acknowledged; that of all records for an unknown consumer.
    pub fn unread(&mut self, consumer: &ConsumerName) -> io::Result<u64> {
        let Some(ledger) = self.ledgers.get(consumer).map(LedgerFile::ledger) else {
            return Ok(self.log.tally.total());
        };
        let mut unread = self.log.tally.total();
        for channel in Channel::ALL {
            for (from, to) in ledger.acked.of(channel).iter() {
                let read = self.log.rank(channel, to)? - self.log.rank(channel, from.saturating_sub(1))?;
                unread = unread.saturating_sub(read);
            }
        }
        // Results of work for other consumers count as read once a session of this consumer begins.
        let mut at = 0;
        while let Some(chunk) = self
            .log
            .chunk_after(at, &|before, end| ledger.may_miss([Channel::Work].into_iter(), before, end))?
        {
            at = chunk.through;
            let records = chunk.entries.iter().map(|entry| &entry.record);
            let others =
                records.filter(|r| !r.is_for(consumer.as_str()) && !ledger.acked.has(r.channel, r.seq));
            unread = unread.saturating_sub(others.count() as u64);
        }
        Ok(unread)
    }

    /// Whether there is a record that a consumer was not shown. A push does not count as shown.
    pub fn has_fresh(&mut self, consumer: &ConsumerName) -> io::Result<bool> {
        let mut is_fresh = false;
        self.each_unread(consumer, &mut |ledger, Entry { record, .. }| {
            is_fresh = !ledger.shown.has(record.channel, record.seq);
            !is_fresh
        })?;
        Ok(is_fresh)
    }

    /// The oldest records that a consumer has not acknowledged, marked as a hand-out would mark them.
    pub fn waiting(&mut self, consumer: &ConsumerName, limit: usize) -> io::Result<Vec<Handed>> {
        let mut waiting = Vec::new();
        self.each_unread(consumer, &mut |ledger, entry| {
            let has_room = waiting.len() < limit;
            waiting.extend(has_room.then(|| Handed::of(ledger, entry)));
            has_room
        })?;
        Ok(waiting)
    }

    /// Visits what a consumer has not acknowledged, oldest first, until `visit` wants no more.
    fn each_unread(
        &mut self,
        consumer: &ConsumerName,
        visit: &mut dyn FnMut(&Ledger, &Entry) -> bool,
    ) -> io::Result<()> {
        let nothing = Ledger::default();
        let ledger = self.ledgers.get(consumer).map_or(&nothing, LedgerFile::ledger);
        let wants = |before: &Tally, end: &Tally| ledger.may_miss(Channel::ALL.into_iter(), before, end);
        let is_unread = |Record { channel, seq, .. }: &Record| !ledger.acked.has(*channel, *seq);
        let mut at = 0;
        while let Some(chunk) = self.log.chunk_after(at, &wants)? {
            at = chunk.through;
            let ours = chunk.entries.iter().filter(|entry| entry.record.is_for(consumer.as_str()));
            for entry in ours.filter(|entry| is_unread(&entry.record)) {
                if !visit(ledger, entry) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}
