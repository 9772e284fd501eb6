//! The journal's files as one sequence of records: the place of each, and reading them a block at a time.
//!
//! Memory holds only the indexes and a few blocks, however long the journal is. Everything that is read is
//! checked.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::floor::Floor;
use super::index::{SegmentIndex, Tally};
use super::keys::{self, KeyHash};
use super::line;
use super::options::Finding;
use super::segment::SegmentName;
use super::term::{self, Terms};
use crate::record::{Channel, Record};
use entraclaw_seams::storage::{Stamp, Storage};

/// Blocks kept in memory.
const CACHED_BLOCKS_MAX: usize = 4;
/// Counts remembered by [`Log::rank`].
const RANKS_MAX: usize = 4_096;
/// The index of the open file is saved after this many new blocks; opening the journal scans at most that
/// much.
const CHECKPOINT_BLOCKS: usize = 16;
/// How often one process mends the same file; after that it only tolerates the damage.
const HEALS_MAX: u32 = 3;

/// A record, and the place of the one before it in its channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) record: Record,
    pub(super) prev: u64,
}

/// One block in memory.
#[derive(Debug, Clone)]
pub(super) struct Chunk {
    /// The records in order; fewer than expected if the file is damaged and can't be mended.
    pub(super) entries: Arc<[Arc<Entry>]>,
    /// The place at which the block begins.
    pub(super) first_seq: u64,
    /// The place at which the block ends.
    pub(super) through: u64,
    /// The counts of the journal before the block.
    pub(super) before: Tally,
}

/// One file.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) name: SegmentName,
    pub(super) index: SegmentIndex,
    /// The length of the file that the saved index covers.
    pub(super) saved_len: u64,
    /// The counts of the earlier files.
    pub(super) before: Tally,
    /// The file's stamp when this process last read or wrote it.
    pub(super) stamp: Option<Stamp>,
}

/// All files.
pub(super) struct Log {
    pub(super) storage: Arc<dyn Storage>,
    /// Whether this process may mend files.
    pub(super) repair: bool,
    /// The term in which this process may mend and write.
    pub(super) own_term: u64,
    /// Which files count.
    pub(super) terms: Terms,
    /// A term has begun whose leader has not yet said which files count, so nothing new may be shown.
    pub(super) is_unsettled: bool,
    /// Where the journal begins.
    pub(super) floor: Floor,
    pub(super) segments: Vec<Segment>,
    pub(super) tally: Tally,
    /// The last existing file, even when it holds no record.
    pub(super) newest_name: Option<SegmentName>,
    /// Files whose saved index led to damage.
    pub(super) distrusted: BTreeSet<SegmentName>,
    /// Files with damage that can't be mended now; their intact records are served.
    pub(super) tolerated: BTreeSet<SegmentName>,
    /// The last file, if it could not be synced: it is read, but nothing is appended to it.
    pub(super) unsynced: Option<SegmentName>,
    /// Damage met since the findings were last taken.
    pub(super) findings: Vec<Finding>,
    /// Places that were once on the disk and are in no file, first and last of each gap, met since the gaps
    /// were last taken.
    pub(super) gaps: Vec<(u64, u64)>,
    /// Grows each time that files may have been replaced.
    pub(super) reloads: u64,
    /// The length of the last file when a follower last read everything anew.
    pub(super) reloaded_at: Option<u64>,
    heals: BTreeMap<SegmentName, u32>,
    cache: VecDeque<((SegmentName, usize, u64), Chunk)>,
    ranks: BTreeMap<(usize, u64), u64>,
}

impl Log {
    /// Loads the files' indexes into memory; the leader of a term mends the files.
    pub(super) fn load(storage: Arc<dyn Storage>, leads_in: Option<u64>) -> io::Result<Self> {
        let mut log = Self {
            storage,
            repair: leads_in.is_some(),
            own_term: leads_in.unwrap_or(0),
            terms: Terms::default(),
            is_unsettled: false,
            floor: Floor::default(),
            segments: Vec::new(),
            tally: Tally::default(),
            newest_name: None,
            distrusted: BTreeSet::new(),
            tolerated: BTreeSet::new(),
            unsynced: None,
            findings: Vec::new(),
            gaps: Vec::new(),
            reloads: 0,
            reloaded_at: None,
            heals: BTreeMap::new(),
            cache: VecDeque::new(),
            ranks: BTreeMap::new(),
        };
        log.reload()?;
        Ok(log)
    }

    /// Whether a newer term has begun than the one whose files are read.
    pub(super) fn is_outdated(&self) -> io::Result<bool> {
        Ok(term::newest(&*self.storage, self.terms.term)? > self.terms.term)
    }

    /// Whether the term in which this process leads has ended, whatever it has read since.
    pub(super) fn is_term_over(&self) -> io::Result<bool> {
        Ok(term::newest(&*self.storage, self.own_term)? > self.own_term)
    }

    /// Begins a term as its leader, with everything that is read. The file that the previous leader may still
    /// be writing is copied under a name of this term and stops counting, so that later writes to it do no
    /// harm.
    pub(super) fn begin_term(&mut self) -> io::Result<()> {
        let last = self.segments.last().map(|segment| (segment.name, segment.index.len));
        let keeps = self.segments.iter().rev().skip(1).map(|segment| segment.name).collect();
        if let Some((name, len)) = last {
            let bytes = self.storage.read(&name.path(), 0, usize::try_from(len).unwrap_or(usize::MAX))?;
            self.storage.replace(&SegmentName::first_of(name.day(), self.own_term).path(), &bytes)?;
        }
        Terms::beginning(self.own_term, keeps).save(&*self.storage)?;
        if let Some((name, _)) = last {
            // The old file counts under no name. It is renamed for people, who would otherwise read its
            // records twice.
            let _ = self.storage.rename(&name.path(), &format!("{}.replaced", name.path()));
        }
        self.reload()
    }

    pub(super) fn forget_all(&mut self) {
        self.segments.clear();
        self.tally = Tally::default();
        self.newest_name = None;
        self.cache.clear();
        self.ranks.clear();
        self.reloads += 1;
    }

    pub(super) fn push_segment(&mut self, segment: Segment) {
        self.newest_name = Some(segment.name);
        if segment.index.tally.total() > 0 {
            self.tally = segment.before.then(segment.index.tally);
            self.segments.push(segment);
        }
    }

    /// Applies that the oldest files were deleted.
    pub(super) fn begin_after(&mut self, floor: Floor) {
        self.floor = floor;
        let count = self.segments.len();
        self.segments.retain(|segment| Some(segment.name) > self.floor.through_file);
        if self.segments.len() == count {
            return;
        }
        self.tally = Tally::default();
        for segment in &mut self.segments {
            segment.before = self.tally;
            self.tally = self.tally.then(segment.index.tally);
        }
        self.cache.clear();
        self.ranks.clear();
        self.reloads += 1;
    }

    /// The day on which the journal begins, when older ones were deleted.
    pub(super) fn begins(&self) -> Option<Date> {
        self.floor.through_file?;
        Some(self.segments.first()?.name.day())
    }

    /// The newest record in a file; 0 when there is none.
    pub(super) fn last_seq(&self) -> u64 {
        self.segments.last().map_or(0, |segment| segment.index.last_seq)
    }

    /// The newest place that the disk had and that was not lost, whether or not retention deleted it.
    pub(super) fn last_place(&self) -> u64 {
        self.last_seq().max(self.floor.through_seq)
    }

    /// When the newest record up to a place was written or received, whichever was first; `None` where there
    /// is none.
    pub(super) fn written_before(&mut self, seq: u64) -> io::Result<Option<Timestamp>> {
        let Some(chunk) = self.chunk_before(seq)? else { return Ok(None) };
        let before = chunk.entries.iter().rev().find(|entry| entry.record.seq < seq);
        Ok(before.and_then(|entry| {
            let received: Timestamp = entry.record.received_at.parse().ok()?;
            Some(entry.record.ts.parse().map_or(received, |written: Timestamp| written.min(received)))
        }))
    }

    /// The day on which the newest record was received, by the clock of that time.
    pub(super) fn received_last_on(&mut self) -> io::Result<Option<Date>> {
        let Some(chunk) = self.chunk_before(u64::MAX)? else { return Ok(None) };
        let received =
            chunk.entries.last().and_then(|entry| entry.record.received_at.parse::<Timestamp>().ok());
        Ok(received.map(|at| at.to_zoned(TimeZone::UTC).date()))
    }

    /// Adds a record that was just appended to `name` between two offsets.
    pub(super) fn push(&mut self, name: SegmentName, record: &Record, offset: u64, end: u64) {
        if self.segments.last().is_none_or(|segment| segment.name != name) {
            let index = SegmentIndex::above(self.last_place());
            self.segments.push(Segment { name, index, saved_len: 0, before: self.tally, stamp: None });
            self.newest_name = Some(name);
        }
        if let Some(segment) = self.segments.last_mut() {
            segment.index.push(record.seq, record.channel, offset, end);
            self.tally.add(record.channel, record.seq);
        }
    }

    /// Notes the stamp of the last file as this process left it.
    pub(super) fn stamp_last(&mut self) {
        let Some(segment) = self.segments.last_mut() else { return };
        segment.stamp = self.storage.stamp(&segment.name.path()).unwrap_or_default();
    }

    /// The files that another process has changed; looks at the last one alone, or at all.
    pub(super) fn touched(&self, last_alone: bool) -> io::Result<Vec<SegmentName>> {
        let mut touched = Vec::new();
        let first = if last_alone { self.segments.len().saturating_sub(1) } else { 0 };
        for Segment { name, stamp, .. } in &self.segments[first..] {
            let now = self.storage.stamp(&name.path())?;
            if now.is_none() || now != *stamp {
                touched.push(*name);
            }
        }
        Ok(touched)
    }

    /// Saves the index of the open file when it has grown enough.
    pub(super) fn checkpoint(&mut self) {
        let Some(Segment { index, saved_len, .. }) = self.segments.last() else { return };
        let unsaved = index.blocks.iter().rev().take_while(|block| block.offset >= *saved_len);
        if unsaved.take(CHECKPOINT_BLOCKS + 1).count() > CHECKPOINT_BLOCKS {
            self.save_index_of_last();
        }
    }

    /// Saves the index of the last file. An index is only a shortcut, so a failure to write it is ignored.
    pub(super) fn save_index_of_last(&mut self) {
        let Some(Segment { name, index, saved_len, .. }) = self.segments.last_mut() else { return };
        if index.len != *saved_len && self.storage.replace(&name.index_path(), &index.to_bytes()).is_ok() {
            *saved_len = index.len;
            self.distrusted.remove(name);
        }
    }

    /// The first block that `wants` accepts and that holds a record after `after`. `wants` is given the
    /// counts before the block and up to its end.
    pub(super) fn chunk_after(
        &mut self,
        after: u64,
        wants: &dyn Fn(&Tally, &Tally) -> bool,
    ) -> io::Result<Option<Chunk>> {
        while let Some((segment, block)) = self.find_after(after, wants) {
            if let Some(chunk) = self.block(segment, block)? {
                return Ok(Some(chunk));
            }
        }
        Ok(None)
    }

    /// The block with the newest record before `before`.
    pub(super) fn chunk_before(&mut self, before: u64) -> io::Result<Option<Chunk>> {
        loop {
            let segment = self.segments.partition_point(|s| s.index.blocks[0].first_seq < before);
            let Some(segment) = segment.checked_sub(1) else { return Ok(None) };
            let block = self.segments[segment].index.blocks.partition_point(|b| b.first_seq < before) - 1;
            if let Some(chunk) = self.block(segment, block)? {
                return Ok(Some(chunk));
            }
        }
    }

    /// How many records of a channel have a place up to `seq`.
    pub(super) fn rank(&mut self, channel: Channel, seq: u64) -> io::Result<u64> {
        if seq >= self.tally.last[channel.index()] {
            return Ok(self.tally.count[channel.index()]);
        }
        if let Some(rank) = self.ranks.get(&(channel.index(), seq)) {
            return Ok(*rank);
        }
        let Some(chunk) = self.chunk_before(seq + 1)? else { return Ok(0) };
        let here =
            chunk.entries.iter().filter(|e| e.record.channel == channel && e.record.seq <= seq).count();
        let rank = chunk.before.count[channel.index()] + here as u64;
        if self.ranks.len() >= RANKS_MAX {
            self.ranks.clear();
        }
        self.ranks.insert((channel.index(), seq), rank);
        Ok(rank)
    }

    /// The newest records, at most `count`, in order.
    pub(super) fn newest(&mut self, count: usize) -> io::Result<Vec<Arc<Entry>>> {
        let mut newest = VecDeque::new();
        let mut before = u64::MAX;
        while newest.len() < count
            && let Some(chunk) = self.chunk_before(before)?
        {
            for entry in chunk.entries.iter().rev().take(count - newest.len()) {
                newest.push_front(Arc::clone(entry));
            }
            before = chunk.first_seq;
        }
        Ok(newest.into())
    }

    /// Hashes of the newest dedup keys, newest first. A file with fewer keys than its index says is mended
    /// first.
    pub(super) fn newest_keys(&mut self, count: usize) -> io::Result<Vec<KeyHash>> {
        loop {
            let (keys, damaged) = self.keys_and_damage(count)?;
            match damaged {
                Some(name) => self.heal(name)?,
                None => return Ok(keys),
            }
        }
    }

    /// The keys, and a file that has fewer of them than its index says.
    fn keys_and_damage(&self, count: usize) -> io::Result<(Vec<KeyHash>, Option<SegmentName>)> {
        /// Parsing the key alone takes a third of the time that parsing the whole record takes.
        #[derive(serde::Deserialize)]
        struct Keyed<'a> {
            #[serde(borrow)]
            key: Cow<'a, str>,
        }
        let mut newest_first = Vec::new();
        let segments = self.segments.iter().rev();
        let blocks =
            segments.flat_map(|segment| (0..segment.index.blocks.len()).rev().map(move |at| (segment, at)));
        for (segment, block) in blocks {
            if newest_first.len() >= count {
                break;
            }
            let bytes = self.read_bytes(segment, block)?;
            let hash = |line: &[u8]| line::parse::<Keyed<'_>>(line).map(|keyed| keys::hash(&keyed.key));
            let known = newest_first.len();
            newest_first.extend(bytes.rsplit(|byte| *byte == b'\n').filter_map(hash));
            let (before, end) = segment.around(block);
            let is_whole = (newest_first.len() - known) as u64 >= end.total() - before.total();
            if !is_whole && !self.tolerated.contains(&segment.name) {
                return Ok((Vec::new(), Some(segment.name)));
            }
        }
        newest_first.truncate(count);
        Ok((newest_first, None))
    }

    fn read_bytes(&self, segment: &Segment, block: usize) -> io::Result<Vec<u8>> {
        let offset = segment.index.blocks[block].offset;
        let len = usize::try_from(segment.index.end_of(block).0 - offset).unwrap_or(usize::MAX);
        self.storage.read(&segment.name.path(), offset, len)
    }

    fn find_after(&self, after: u64, wants: &dyn Fn(&Tally, &Tally) -> bool) -> Option<(usize, usize)> {
        let from = self.segments.partition_point(|s| s.index.last_seq <= after);
        for (at, segment) in self.segments.iter().enumerate().skip(from) {
            let blocks = &segment.index.blocks;
            let first = blocks.partition_point(|b| b.first_seq <= after).saturating_sub(1);
            for block in first..blocks.len() {
                let (before, end) = segment.around(block);
                if end.newest() > after && wants(&before, &end) {
                    return Some((at, block));
                }
            }
        }
        None
    }

    /// Reads and checks one block. `None` when this led to mending, after which places in memory are void.
    fn block(&mut self, segment: usize, block: usize) -> io::Result<Option<Chunk>> {
        let Segment { name, index, .. } = &self.segments[segment];
        let (name, end) = (*name, index.end_of(block).0);
        let key = (name, block, end);
        if let Some((_, chunk)) = self.cache.iter().find(|(cached, _)| *cached == key) {
            return Ok(Some(chunk.clone()));
        }
        let (chunk, is_whole) = match self.read_block(segment, block) {
            // The leader has deleted the file since.
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.is_gone(name)? => {
                self.reload()?;
                return Ok(None);
            }
            read => read?,
        };
        if !is_whole && !self.tolerated.contains(&name) {
            self.heal(name)?;
            return Ok(None);
        }
        if self.cache.len() >= CACHED_BLOCKS_MAX {
            self.cache.pop_front();
        }
        self.cache.push_back((key, chunk.clone()));
        Ok(Some(chunk))
    }

    fn is_gone(&self, name: SegmentName) -> io::Result<bool> {
        Ok(self.storage.len(&name.path())?.is_none())
    }

    fn read_block(&self, segment: usize, block: usize) -> io::Result<(Chunk, bool)> {
        let segment = &self.segments[segment];
        let (before, after) = segment.around(block);
        let first_seq = segment.index.blocks[block].first_seq;
        let bytes = self.read_bytes(segment, block)?;
        let mut tally = before;
        let mut newest = first_seq.saturating_sub(1);
        let mut entries = Vec::new();
        for record in bytes.split(|byte| *byte == b'\n').filter_map(line::decode) {
            if record.seq > newest {
                newest = record.seq;
                let prev = tally.add(record.channel, record.seq);
                entries.push(Arc::new(Entry { record, prev }));
            }
        }
        let through = after.newest();
        Ok((Chunk { entries: entries.into(), first_seq, through, before }, tally == after))
    }

    /// Whether a file was mended so often that its damage is only tolerated.
    pub(super) fn is_given_up(&self, name: SegmentName) -> bool {
        self.heals.get(&name).is_some_and(|heals| *heals > HEALS_MAX)
    }

    /// Reads a whole file that does not match its index; the leader then mends it.
    fn heal(&mut self, name: SegmentName) -> io::Result<()> {
        let heals = self.heals.entry(name).or_default();
        *heals += 1;
        if self.is_given_up(name) {
            self.tolerated.insert(name);
        }
        self.distrusted.insert(name);
        self.reload()
    }
}

impl Segment {
    /// The counts before a block, and up to its end.
    fn around(&self, block: usize) -> (Tally, Tally) {
        let before = self.before.then(self.index.blocks[block].before);
        (before, self.before.then(self.index.end_of(block).1))
    }
}

#[cfg(test)]
mod tests {
    use entraclaw_seams::storage::MemoryStorage;

    use super::super::segment::FIRST;
    use super::*;

    /// A reader that takes a file for deleted begins anew, and would do so without end while it can't be read.
    #[test]
    fn a_file_is_gone_only_when_the_disk_has_none() {
        let disk = MemoryStorage::new();
        let name = SegmentName::first_of("2026-11-21".parse().unwrap(), FIRST);
        let log = Log::load(Arc::new(disk.clone()), None).unwrap();
        assert!(log.is_gone(name).unwrap());
        disk.set_bytes(&name.path(), b"");
        assert!(!log.is_gone(name).unwrap());
    }
}
