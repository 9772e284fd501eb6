//! The places of records in a file, so that finding one needs no reading of the file: every few hundred
//! records a block with its offset, and the counts of each channel before it.
//!
//! An index is kept beside its file and is only a shortcut: it must never be needed to read the journal.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::line;
use crate::record::Channel;

/// A block ends at this many records or bytes, whichever comes first. One read brings a block into memory.
const BLOCK_RECORDS_MAX: u64 = 256;
const BLOCK_BYTES_MAX: u64 = 256 * 1024;

const CHANNELS: usize = Channel::ALL.len();

/// The number of records of each channel up to some place, and the newest of each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Tally {
    #[serde(deserialize_with = "for_each_channel")]
    pub(super) count: [u64; CHANNELS],
    /// The place of the newest record of each channel; 0 when there is none.
    #[serde(deserialize_with = "for_each_channel")]
    pub(super) last: [u64; CHANNELS],
}

impl Tally {
    /// Counts one more record; returns the place of the one before it in its channel.
    pub(super) fn add(&mut self, channel: Channel, seq: u64) -> u64 {
        self.count[channel.index()] += 1;
        std::mem::replace(&mut self.last[channel.index()], seq)
    }

    /// The number of records of all channels.
    pub(super) fn total(&self) -> u64 {
        self.count.iter().sum()
    }

    /// The place of the newest record; 0 when there is none.
    pub(super) fn newest(&self) -> u64 {
        self.last.into_iter().max().unwrap_or(0)
    }

    /// The counts of this and of `later` after it, together.
    pub(super) fn then(self, later: Self) -> Self {
        let mut both = self;
        for channel in 0..CHANNELS {
            both.count[channel] += later.count[channel];
            both.last[channel] = both.last[channel].max(later.last[channel]);
        }
        both
    }
}

/// A stretch of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredBlock", into = "StoredBlock")]
pub(super) struct Block {
    pub(super) first_seq: u64,
    pub(super) offset: u64,
    /// The counts of the file before this block.
    pub(super) before: Tally,
}

/// The index of one file up to `len` bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SegmentIndex {
    /// The newest record in earlier files when the index was made; records up to it are repeats in this file.
    pub(super) floor: u64,
    /// The end of the last record in the index.
    pub(super) len: u64,
    pub(super) last_seq: u64,
    #[serde(flatten)]
    pub(super) tally: Tally,
    pub(super) blocks: Vec<Block>,
}

impl SegmentIndex {
    /// An empty index.
    pub(super) fn above(floor: u64) -> Self {
        Self { floor, ..Self::default() }
    }

    /// Adds the record between two offsets. Records come in order.
    pub(super) fn push(&mut self, seq: u64, channel: Channel, offset: u64, end: u64) {
        let is_full = self.blocks.last().is_none_or(|block| {
            self.tally.total() - block.before.total() >= BLOCK_RECORDS_MAX
                || self.len - block.offset >= BLOCK_BYTES_MAX
        });
        if is_full {
            self.blocks.push(Block { first_seq: seq, offset, before: self.tally });
        }
        self.tally.add(channel, seq);
        self.last_seq = seq;
        self.len = end;
    }

    /// The newest record in this file or in earlier ones.
    pub(super) fn newest(&self) -> u64 {
        self.last_seq.max(self.floor)
    }

    /// The end of a block, and the counts of the file up to there.
    pub(super) fn end_of(&self, block: usize) -> (u64, Tally) {
        self.blocks.get(block + 1).map_or((self.len, self.tally), |next| (next.offset, next.before))
    }

    /// The index as bytes, with a checksum.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        line::seal_file(self).unwrap_or_default()
    }

    /// The index from bytes; `None` if they are incomplete or contradict each other.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let index: Self = line::parse_file(bytes)?;
        let in_order = index.blocks.is_sorted_by(|a, b| a.first_seq < b.first_seq && a.offset < b.offset);
        let last = index.blocks.last();
        let inside = last.is_none_or(|b| b.first_seq <= index.last_seq && b.offset < index.len);
        let is_empty = index.tally.total() == 0;
        (in_order && inside && is_empty == index.blocks.is_empty()).then_some(index)
    }
}

/// A block on disk: its first place, its offset, the counts before it and the newest places before it.
#[derive(Serialize, Deserialize)]
struct StoredBlock(
    u64,
    u64,
    #[serde(deserialize_with = "for_each_channel")] [u64; CHANNELS],
    #[serde(deserialize_with = "for_each_channel")] [u64; CHANNELS],
);

impl From<StoredBlock> for Block {
    fn from(StoredBlock(first_seq, offset, count, last): StoredBlock) -> Self {
        Self { first_seq, offset, before: Tally { count, last } }
    }
}

impl From<Block> for StoredBlock {
    fn from(Block { first_seq, offset, before }: Block) -> Self {
        Self(first_seq, offset, before.count, before.last)
    }
}

/// Reads a number for each channel. A file of a version that knew fewer channels has fewer numbers, and no records
/// of the other channels.
fn for_each_channel<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[u64; CHANNELS], D::Error> {
    let mut numbers = Vec::deserialize(deserializer)?;
    numbers.resize(CHANNELS.max(numbers.len()), 0);
    let count = numbers.len();
    numbers.try_into().map_err(|_| D::Error::invalid_length(count, &"a number for each channel"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> SegmentIndex {
        let mut index = SegmentIndex::above(4);
        for n in 0..1_000 {
            let channel = if n % 3 == 0 { Channel::Email } else { Channel::Teams };
            index.push(5 + n, channel, n * 100, (n + 1) * 100);
        }
        index
    }

    #[test]
    fn blocks_cover_the_file_without_gaps() {
        let index = sample();
        assert_eq!(index.blocks.len(), 4);
        assert_eq!(index.end_of(0), (index.blocks[1].offset, index.blocks[1].before));
        assert_eq!(index.end_of(3), (100_000, index.tally));
        assert_eq!(index.tally.total(), 1_000);
        assert_eq!(index.tally.count[Channel::Email.index()], 334);
        assert_eq!(index.tally.last[Channel::Email.index()], 1_004);
    }

    #[test]
    fn big_records_make_small_blocks() {
        let mut index = SegmentIndex::default();
        for n in 0..10 {
            index.push(n + 1, Channel::Teams, n * BLOCK_BYTES_MAX, (n + 1) * BLOCK_BYTES_MAX);
        }
        assert_eq!(index.blocks.len(), 10);
    }

    /// A file whose checksum is right may still be another program's work.
    #[test]
    fn an_index_that_contradicts_itself_is_none() {
        let changed = |change: &dyn Fn(&mut SegmentIndex)| {
            let mut index = sample();
            change(&mut index);
            SegmentIndex::from_bytes(&index.to_bytes())
        };
        assert!(changed(&|_| ()).is_some());
        assert_eq!(changed(&|index| index.blocks[1].offset = index.blocks[0].offset), None);
        assert_eq!(changed(&|index| index.blocks[1].first_seq = index.blocks[0].first_seq), None);
        assert_eq!(changed(&|index| index.len = index.blocks[3].offset), None);
        assert_eq!(changed(&|index| index.last_seq = index.blocks[3].first_seq - 1), None);
        assert!(changed(&|index| index.last_seq = index.blocks[3].first_seq).is_some());
        assert_eq!(changed(&|index| index.blocks.clear()), None);
        assert_eq!(changed(&|index| index.tally = Tally::default()), None);
    }

    #[test]
    fn it_comes_back_from_disk_whole_or_not_at_all() {
        let bytes = sample().to_bytes();
        assert_eq!(SegmentIndex::from_bytes(&bytes), Some(sample()));
        for cut in 0..bytes.len() {
            assert_eq!(SegmentIndex::from_bytes(&bytes[..cut]), None);
        }
    }

    #[test]
    fn an_index_of_before_a_channel_is_read_as_having_none_of_its_records() {
        let old = serde_json::json!({
            "v": 1, "floor": 4, "len": 700, "last_seq": 8, "count": [3, 1, 0], "last": [8, 6, 0],
            "blocks": [[5, 0, [0, 0, 0], [0, 0, 0]]],
        });
        let index = SegmentIndex::from_bytes(&line::seal(old.to_string().into_bytes())).unwrap();
        assert_eq!((index.tally.count, index.tally.last), ([3, 1, 0, 0], [8, 6, 0, 0]));
        let mut later = index.clone();
        later.push(9, Channel::Work, 700, 800);
        assert_eq!(SegmentIndex::from_bytes(&later.to_bytes()), Some(later));
        let newer = old.to_string().replace("[3,1,0]", "[3,1,0,0,1]");
        assert_eq!(SegmentIndex::from_bytes(&line::seal(newer.into_bytes())), None, "of a later version");
    }
}
