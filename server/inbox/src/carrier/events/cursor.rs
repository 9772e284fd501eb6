//! A place in the journal as a text that clients keep: the last record, and a mark that identifies it.
//!
//! A cursor that this journal did not issue, or whose record was deleted, is not an error. It must never skip
//! a record silently.

use std::fmt;

use crate::journal::{Journal, JournalError};
use crate::record::Record;

/// The version of the cursor's shape; a text with another one is not a cursor.
const VERSION: &str = "1";

/// The record after which a client goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cursor {
    seq: u64,
    /// Checksum of the record's key, which shows whether a cursor belongs to another journal.
    mark: u32,
}

impl Cursor {
    /// Before the first record.
    const START: Self = Self { seq: 0, mark: 0 };

    /// After this record.
    pub(crate) fn at(record: &Record) -> Self {
        Self { seq: record.seq, mark: crc32c::crc32c(record.key.as_bytes()) }
    }

    /// After the newest record.
    pub(crate) fn now(journal: &Journal) -> Result<Self, JournalError> {
        let seq = journal.last_seq();
        let newest = journal.read_after(seq.saturating_sub(1), 1)?.pop();
        Ok(newest.map_or(Self { seq, mark: 0 }, |record| Self::at(&record)))
    }

    /// The place of the last record.
    pub(crate) fn seq(self) -> u64 {
        self.seq
    }

    /// Reads a text that [`Cursor::fmt`] wrote, and no other.
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.strip_prefix(VERSION)?.strip_prefix('-')?.split('-');
        let cursor =
            Self { seq: parts.next()?.parse().ok()?, mark: u32::from_str_radix(parts.next()?, 16).ok()? };
        (cursor.to_string() == text).then_some(cursor)
    }

    /// The cursor at which a client with this text goes on, and whether records that it has not read may be
    /// gone. An unknown cursor starts at the oldest record.
    pub(crate) fn resume(text: &str, journal: &Journal) -> Result<(Self, bool), JournalError> {
        let given = Self::parse(text).filter(|given| given.seq <= journal.last_seq());
        let Some(given) = given else { return Ok((Self::before_all(journal)?, true)) };
        let next = journal.read_after(given.seq.saturating_sub(1), 1)?.pop();
        Ok(match next {
            Some(record) if record.seq == given.seq && Self::at(&record) != given => {
                (Self::before_all(journal)?, true)
            }
            Some(record) if record.seq > given.seq + 1 => (Self::before(&record), true),
            _ => (given, false),
        })
    }

    /// The place before the oldest record.
    fn before_all(journal: &Journal) -> Result<Self, JournalError> {
        Ok(journal.read_after(0, 1)?.pop().map_or(Self::START, |record| Self::before(&record)))
    }

    fn before(record: &Record) -> Self {
        Self { seq: record.seq.saturating_sub(1), mark: 0 }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{VERSION}-{}-{:08x}", self.seq, self.mark)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_cursor_is_read_as_it_was_written(seq: u64, mark: u32) {
            let cursor = Cursor { seq, mark };
            prop_assert_eq!(Cursor::parse(&cursor.to_string()), Some(cursor));
        }

        #[test]
        fn no_other_text_is_a_cursor(text in "(1-)?[0-9a-f+]{0,12}(-[0-9a-fA-F+]{0,9})?(-.{0,3})?") {
            if let Some(cursor) = Cursor::parse(&text) {
                prop_assert_eq!(cursor.to_string(), text);
            }
        }
    }
}
