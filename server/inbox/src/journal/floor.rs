//! What retention deleted: `inbox/retention.json`, written before the first file of a round is deleted.
//!
//! All files up to the one that it names count as deleted, even while the disk still has them, so a crash in
//! the middle of a round leaves no gap. It must never be fatal: a file that can't be read means that nothing
//! was deleted.

use std::io;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use super::line;
use super::segment::SegmentName;
use super::term;
use entraclaw_seams::storage::Storage;

const PATH: &str = "inbox/retention.json";
/// Longer than the file ever is.
const BYTES_MAX: usize = 4_096;

/// The place at which the journal begins, and how far the calendar can be trusted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Floor {
    /// The last deleted file.
    pub(super) through_file: Option<SegmentName>,
    /// The newest record in it; 0 when nothing was deleted.
    pub(super) through_seq: u64,
    /// When retention last looked.
    pub(super) checked_at: Option<Timestamp>,
    /// Since when the calendar did not jump between two looks.
    pub(super) steady_since: Option<Timestamp>,
}

impl Floor {
    /// The end of the last deleted day.
    pub(super) fn ends(&self) -> Option<Timestamp> {
        let next = self.through_file?.day().tomorrow().ok()?;
        Some(next.to_zoned(TimeZone::UTC).ok()?.timestamp())
    }

    /// Reads the file of this term, or of the newest term before it that has one.
    pub(super) fn load(storage: &dyn Storage, term: u64) -> io::Result<Self> {
        let path = term::newest_path(storage, term, PATH)?;
        if storage.len(&path)?.is_none() {
            return Ok(Self::default());
        }
        let bytes = storage.read(&path, 0, BYTES_MAX)?;
        Ok(line::parse_file(&bytes).unwrap_or_default())
    }

    /// Writes it durably, for the leader of a term.
    pub(super) fn save(&self, storage: &dyn Storage, term: u64) -> io::Result<()> {
        storage.replace(&term::path_in(term, PATH), &line::seal_file(self)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use entraclaw_seams::storage::MemoryStorage;

    #[test]
    fn it_comes_back_whole_or_not_at_all() {
        let storage = MemoryStorage::new();
        storage.create_dir("inbox").unwrap();
        assert_eq!(Floor::load(&storage, 1).unwrap(), Floor::default());
        let floor = Floor {
            through_file: SegmentName::parse("2026-11-21.2.jsonl"),
            through_seq: 77,
            checked_at: Some("2026-12-24T18:00:00Z".parse().unwrap()),
            steady_since: None,
        };
        floor.save(&storage, 1).unwrap();
        assert_eq!(Floor::load(&storage, 1).unwrap(), floor);
        let bytes = storage.bytes(PATH).unwrap();
        for cut in 0..bytes.len() {
            storage.set_bytes(PATH, &bytes[..cut]);
            assert_eq!(Floor::load(&storage, 1).unwrap(), Floor::default());
        }
    }
}
