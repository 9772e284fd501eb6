//! Reads a journal file from some place to its end and reports its records, repeats, damage and torn tail.
//!
//! It must only read: [`super::load`] decides what to do about damage.

use std::io;

use super::index::SegmentIndex;
use super::line;
use super::lines::Lines;
use crate::record::Record;
use entraclaw_seams::storage::Storage;

/// What a scan found besides records.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Scan {
    /// Unreadable pieces with an intact line after them.
    pub(super) damaged_pieces: u64,
    /// Intact lines whose place an earlier line already has.
    pub(super) repeats: u64,
    /// Places that were once on the disk and that no line has, first and last of each gap.
    pub(super) gaps: Vec<(u64, u64)>,
}

/// Adds to `index` every record between its end and `end`, and gives each with its line to `on_record`. The
/// torn tail is what follows the last intact line: the bytes from `index.len` to `end`.
pub(super) fn scan(
    storage: &dyn Storage,
    path: &str,
    index: &mut SegmentIndex,
    end: u64,
    mut on_record: impl FnMut(Record),
) -> io::Result<Scan> {
    let mut found = Scan::default();
    let mut unreadable = 0;
    let mut lines = Lines::new(storage, path, index.len, end);
    while let Some(piece) = lines.next()? {
        if piece.bytes.is_empty() {
            continue;
        }
        let record = if piece.ended { line::decode(piece.bytes) } else { None };
        let Some(record) = record else {
            unreadable += 1;
            continue;
        };
        found.damaged_pieces += std::mem::take(&mut unreadable);
        let newest = index.newest();
        if record.seq <= newest {
            found.repeats += 1;
            index.len = piece.end();
            continue;
        }
        let before = record.after.unwrap_or(record.seq - 1);
        if before > newest {
            found.gaps.push((newest + 1, before));
        }
        index.push(record.seq, record.channel, piece.offset, piece.end());
        on_record(record);
    }
    Ok(found)
}
