//! Reading what the journal has: pages of records from the window or the files, and how many there are.
//!
//! It must never return a record that this process has not taken in yet.

use std::sync::Arc;

use super::{Core, Page};
use crate::journal::error::{JournalError, Result};
use crate::journal::index::Tally;
use crate::journal::log::Entry;
use crate::record::Channel;

impl Core {
    /// The next records after `after`: a block of a file, or the rest of the window. Blocks that `wants` refuses are skipped.
    pub(in crate::journal) fn page_after(
        &mut self,
        after: u64,
        wants: &dyn Fn(&Tally, &Tally) -> bool,
    ) -> Result<Option<Page>> {
        if !self.window.reaches(after) {
            let chunk = self.log.chunk_after(after, wants);
            if let Some(chunk) = chunk.map_err(JournalError::storage("read the journal"))? {
                self.recount();
                // A follower may have read records that it has not taken in yet.
                let last = self.last_seq();
                let newer =
                    chunk.entries.iter().filter(|entry| (after + 1..=last).contains(&entry.record.seq));
                let page = Page { entries: newer.cloned().collect(), through: chunk.through.min(last) };
                return Ok((page.through > after).then_some(page));
            }
            self.recount();
        }
        let entries: Vec<_> = self.window.after(after).cloned().collect();
        let through = self.last_seq();
        Ok((!entries.is_empty()).then_some(Page { entries, through }))
    }

    /// Counts the records again if reading has mended a file or found one missing, after which there can be fewer.
    pub(super) fn recount(&mut self) {
        if self.log.findings.is_empty() && self.log.reloads == self.counted_reloads && self.is_leader() {
            return;
        }
        self.counted_reloads = self.log.reloads;
        self.window.forget_through(self.log.floor.through_seq);
        self.tally = self.log.tally;
        for entry in &self.pending {
            self.tally.add(entry.record.channel, entry.record.seq);
        }
        self.take_findings();
    }

    /// The records of the block or window before `before`, newest last.
    pub(in crate::journal) fn page_before(&mut self, before: u64) -> Result<Option<Vec<Arc<Entry>>>> {
        let newest: Vec<_> = self.window.after(0).filter(|e| e.record.seq < before).cloned().collect();
        if !newest.is_empty() {
            return Ok(Some(newest));
        }
        let chunk = self.log.chunk_before(before).map_err(JournalError::storage("read the journal"))?;
        self.recount();
        Ok(chunk.map(|chunk| chunk.entries.iter().filter(|e| e.record.seq < before).cloned().collect()))
    }

    /// The record at a place.
    pub(in crate::journal) fn entry(&mut self, seq: u64) -> Result<Option<Arc<Entry>>> {
        let page = self.page_after(seq.saturating_sub(1), &|_, _| true)?;
        Ok(page.and_then(|page| page.entries.first().filter(|entry| entry.record.seq == seq).cloned()))
    }

    /// The place of the newest record of a channel.
    pub(in crate::journal) fn last_of(&self, channel: Channel) -> Option<u64> {
        Some(self.tally.last[channel.index()]).filter(|seq| *seq > 0)
    }

    /// The error for an id that no message has, with the day on which the journal begins.
    pub(in crate::journal) fn unknown_id(&self, id: &str) -> JournalError {
        let begins = self.log.begins().map(|day| day.to_string());
        JournalError::UnknownId { id: id.chars().take(64).collect(), begins }
    }

    /// The number of records of a channel with a place up to `seq`.
    pub(in crate::journal) fn rank(&mut self, channel: Channel, seq: u64) -> Result<u64> {
        if self.window.reaches(seq) || seq >= self.last_seq() {
            let after = self.window.count_after(channel, seq);
            return Ok(self.tally.count[channel.index()].saturating_sub(after));
        }
        let rank = self.log.rank(channel, seq).map_err(JournalError::storage("count messages"));
        self.recount();
        rank
    }

    /// The number of records of a channel.
    pub(in crate::journal) fn count(&self, channel: Channel) -> u64 {
        self.tally.count[channel.index()]
    }

    pub(in crate::journal) fn last_seq(&self) -> u64 {
        self.window.newest().map_or(0, |entry| entry.record.seq)
    }

    /// The newest record that the disk has for sure.
    pub(in crate::journal) fn durable_seq(&self) -> u64 {
        self.log.last_seq()
    }
}
