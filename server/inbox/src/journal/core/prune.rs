//! A round of retention by the leader: it chooses the files, notes its choice durably, and deletes them.
//!
//! It must never delete a file before the choice is on disk, nor guess: a file that can't be read stops the round.

use std::io;

use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::Core;
use crate::journal::error::{JournalError, Result};
use crate::journal::index::Tally;
use crate::journal::interaction::{Interaction, InteractionKind};
use crate::journal::ledger::Ledger;
use crate::journal::log::Log;
use crate::journal::retention::{self, Candidate, Pruned, RetentionPolicy};
use crate::journal::segment::{INBOX, INDEXES, SegmentName};
use crate::record::Channel;

impl Core {
    /// Deletes the files that the policy releases. A follower does nothing.
    pub(in crate::journal) fn prune(&mut self, policy: &RetentionPolicy) -> Result<Pruned> {
        if !self.still_leads()? {
            return Ok(Pruned::default());
        }
        let pruned =
            self.prune_round(policy).map_err(JournalError::storage("delete old files of the journal"))?;
        if pruned.files > 0 {
            let Pruned { files, records, bytes, .. } = &pruned;
            let detail = format!("{files} files with {records} records deleted, {bytes} bytes");
            self.audit(vec![Interaction::new(InteractionKind::Retention).detail(detail)]);
        }
        Ok(pruned)
    }

    fn prune_round(&mut self, policy: &RetentionPolicy) -> io::Result<Pruned> {
        let now = self.clock.now();
        let today = now.to_zoned(TimeZone::UTC).date();
        let mut floor = self.log.floor.clone();
        let idle_days = policy.consumer_idle_days;
        let steady = retention::steady_since(floor.checked_at, floor.steady_since, now, idle_days);
        floor.checked_at = Some(now);
        floor.steady_since = Some(steady);
        let mut pruned =
            Pruned { waits_for_calendar: !retention::is_steady(steady, now), ..Pruned::default() };

        let wait_ms = self.options.lock_wait_ms;
        let (active, idle) = self.state.by_activity(now, idle_days, wait_ms)?;
        pruned.idle_consumers = idle.iter().map(ToString::to_string).collect();
        let newest = self.log.newest_name;
        let older: Vec<SegmentName> =
            self.log.segments.iter().map(|s| s.name).filter(|name| Some(*name) < newest).collect();
        let candidates: Vec<Candidate> = (0..older.len())
            .map(|at| {
                let index = &self.log.segments[at].index;
                let (bytes, last_seq) = (index.len, index.last_seq);
                Ok(Candidate { day: day_of(&mut self.log, older[at], last_seq, today)?, bytes })
            })
            .collect::<io::Result<_>>()?;
        let bytes_total = self.log.segments.iter().map(|segment| segment.index.len).sum();
        let (log, state) = (&mut self.log, &self.state);
        let unread_by = |at: usize| {
            let mut names = Vec::new();
            for name in &active {
                if let Some(ledger) = state.ledger(name)
                    && !has_all(log, ledger, older[at])?
                {
                    names.push(name.to_string());
                }
            }
            Ok(names)
        };
        let (count, held_back_by) = retention::plan(policy, today, &candidates, bytes_total, unread_by)?;
        pruned.held_back_by = held_back_by;
        // If no file would be deleted, none waits; so a new home does not report a calendar that jumped.
        pruned.waits_for_calendar &= count > 0;
        if !pruned.waits_for_calendar
            && let Some(last) = count.checked_sub(1).and_then(|last| self.log.segments.get(last))
        {
            floor.through_file = Some(last.name);
            floor.through_seq = last.index.last_seq;
            pruned.files = count as u64;
            pruned.records = last.before.then(last.index.tally).total();
            pruned.bytes = candidates.iter().take(count).map(|file| file.bytes).sum();
        }
        floor.save(&*self.storage, self.log.own_term)?;
        // A process that has replaced this one may have read the older floor.
        if self.log.is_term_over()? {
            return Ok(Pruned::default());
        }
        self.log.begin_after(floor);
        // This also deletes files that an earlier round left.
        let swept = self.sweep();
        if pruned.files > 0 {
            self.recount();
            self.write_state();
        }
        swept.map(|()| pruned)
    }

    /// Deletes the files that the floor excludes, with their indexes and side files.
    fn sweep(&self) -> io::Result<()> {
        let Some(through) = self.log.floor.through_file else { return Ok(()) };
        for name in self.storage.list(INBOX)? {
            // `<file>.torn` and `<file>.damaged` go with their file.
            let day_file = name.find(".jsonl").map(|at| &name[..at + ".jsonl".len()]);
            if day_file.and_then(SegmentName::parse).is_some_and(|file| file <= through) {
                self.storage.remove(&format!("{INBOX}/{name}"))?;
            }
        }
        for name in self.storage.list(INDEXES)? {
            let file = name.strip_suffix(".json").map(|stem| format!("{stem}.jsonl"));
            if file.as_deref().and_then(SegmentName::parse).is_some_and(|file| file <= through) {
                self.storage.remove(&format!("{INDEXES}/{name}"))?;
            }
        }
        Ok(())
    }
}

/// The day of a file for retention. A file of a day to come was begun by a clock that was wrong: it counts by its last
/// message, and a day more, for others may have shown that one late.
fn day_of(log: &mut Log, name: SegmentName, last_seq: u64, today: Date) -> io::Result<Date> {
    if name.day() <= today {
        return Ok(name.day());
    }
    let Some(written) = log.written_before(last_seq.saturating_add(1))? else { return Ok(name.day()) };
    let next = written.to_zoned(TimeZone::UTC).date().tomorrow();
    Ok(next.map_or(name.day(), |next| next.min(name.day())))
}

/// Whether a consumer has acknowledged every record of a file.
fn has_all(log: &mut Log, ledger: &Ledger, name: SegmentName) -> io::Result<bool> {
    let Some(segment) = log.segments.iter().find(|segment| segment.name == name) else { return Ok(false) };
    let (mut at, last) = (segment.before.newest(), segment.index.last_seq);
    let wants = |before: &Tally, end: &Tally| ledger.may_miss(Channel::ALL.into_iter(), before, end);
    while at < last
        && let Some(chunk) = log.chunk_after(at, &wants)?
    {
        at = chunk.through;
        let mut here = chunk.entries.iter().map(|entry| &entry.record).filter(|record| record.seq <= last);
        if here.any(|record| !ledger.acked.has(record.channel, record.seq)) {
            return Ok(false);
        }
    }
    Ok(true)
}
