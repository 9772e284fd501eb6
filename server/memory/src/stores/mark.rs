//! How far a file was read, and whether it is still that file.
//!
//! It must never take a replaced or rewritten file for one that has grown.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::session::Session;
use crate::files::{Files, Standing};

/// Bytes of the beginning that are compared.
const HEAD_BYTES: usize = 1024;

/// How far a file was read. It can be kept between two runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The session as far as it is known.
    pub session: Session,
    identity: u64,
    /// What lies before it was read.
    pub(super) offset: u64,
    /// The length when it was read.
    bytes: u64,
    modified_ns: i64,
    head_bytes: usize,
    head: u32,
}

impl Mark {
    pub(super) fn new(
        session: Session,
        standing: Standing,
        offset: u64,
        files: &dyn Files,
        path: &Path,
    ) -> io::Result<Self> {
        let head_bytes = usize::try_from(offset).unwrap_or(usize::MAX).min(HEAD_BYTES);
        let head = crc32c::crc32c(&files.read(path, 0, head_bytes)?);
        Ok(Self {
            session,
            identity: standing.identity,
            offset,
            bytes: standing.bytes,
            modified_ns: nanoseconds(standing),
            head_bytes,
            head,
        })
    }

    /// A session that is read whole each time, from records that are no bytes of one file.
    pub(super) fn of_records(session: Session, standing: Standing) -> Self {
        Self {
            session,
            identity: standing.identity,
            offset: standing.bytes,
            bytes: standing.bytes,
            modified_ns: nanoseconds(standing),
            head_bytes: 0,
            head: crc32c::crc32c(&[]),
        }
    }

    /// Whether nothing was written since.
    pub(super) fn is_current(&self, standing: Standing) -> bool {
        self.identity == standing.identity
            && self.bytes == standing.bytes
            && self.modified_ns == nanoseconds(standing)
    }

    /// How many bytes are to be read, as far as the standing tells; `None` if nothing was written since.
    pub(super) fn unread_bytes(&self, standing: Standing) -> Option<u64> {
        if self.is_current(standing) {
            return None;
        }
        let is_same = self.identity == standing.identity && standing.bytes >= self.offset;
        Some(if is_same { standing.bytes - self.offset } else { standing.bytes })
    }

    /// Whether the file only grew since.
    pub(super) fn has_grown(&self, standing: Standing, files: &dyn Files, path: &Path) -> io::Result<bool> {
        if self.identity != standing.identity || standing.bytes < self.offset {
            return Ok(false);
        }
        Ok(crc32c::crc32c(&files.read(path, 0, self.head_bytes)?) == self.head)
    }
}

fn nanoseconds(standing: Standing) -> i64 {
    i64::try_from(standing.modified.as_nanosecond()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use entraclaw_seams::clock::SystemClock;
    use entraclaw_seams::storage::MemoryStorage;
    use jiff::Timestamp;
    use rstest::rstest;

    use super::super::session::Agent;
    use super::*;
    use crate::files::SimulatedFiles;

    fn standing(bytes: u64, second: i64, identity: u64) -> Standing {
        Standing { bytes, modified: Timestamp::from_second(second).unwrap(), identity }
    }

    fn files(bytes: &[u8]) -> SimulatedFiles {
        let storage = MemoryStorage::new();
        storage.set_bytes("a", bytes);
        SimulatedFiles::new(storage, Arc::new(SystemClock))
    }

    /// A file of twelve bytes, of which ten were read.
    fn mark(files: &SimulatedFiles) -> Mark {
        let session = Session::new(Agent::Claude, "one", "/a".into());
        Mark::new(session, standing(12, 5, 7), 10, files, Path::new("/a")).unwrap()
    }

    #[rstest]
    #[case::as_it_was(standing(12, 5, 7), None)]
    #[case::written_again(standing(12, 6, 7), Some(2))]
    #[case::longer(standing(15, 5, 7), Some(5))]
    #[case::cut_to_what_was_read(standing(10, 6, 7), Some(0))]
    #[case::shorter(standing(9, 6, 7), Some(9))]
    #[case::another_file(standing(12, 5, 8), Some(12))]
    fn what_is_to_be_read_goes_by_how_the_file_stands(#[case] now: Standing, #[case] unread: Option<u64>) {
        let mark = mark(&files(b"abcdefghijkl"));
        assert_eq!((mark.unread_bytes(now), mark.is_current(now)), (unread, unread.is_none()));
    }

    #[rstest]
    #[case::more(standing(15, 6, 7), b"abcdefghijklmno", true)]
    #[case::as_long(standing(10, 6, 7), b"abcdefghij", true)]
    #[case::behind_what_was_read(standing(15, 6, 7), b"abcdefghijKLMNO", true)]
    #[case::shorter(standing(9, 6, 7), b"abcdefghi", false)]
    #[case::rewritten(standing(15, 6, 7), b"abcdefghiJklmno", false)]
    #[case::another_file(standing(15, 6, 8), b"abcdefghijklmno", false)]
    fn a_file_has_grown_that_begins_as_it_did(
        #[case] now: Standing,
        #[case] bytes: &[u8],
        #[case] has_grown: bool,
    ) {
        let mark = mark(&files(b"abcdefghijkl"));
        assert_eq!(mark.has_grown(now, &files(bytes), Path::new("/a")).unwrap(), has_grown);
    }

    #[test]
    fn only_the_beginning_of_a_long_file_is_compared() {
        let mut bytes = vec![b'a'; 2 * HEAD_BYTES];
        let session = Session::new(Agent::Claude, "one", "/a".into());
        let long = 2 * HEAD_BYTES as u64;
        let mark = Mark::new(session, standing(long, 5, 7), long, &files(&bytes), Path::new("/a")).unwrap();
        let grown =
            |bytes: &[u8]| mark.has_grown(standing(long, 6, 7), &files(bytes), Path::new("/a")).unwrap();
        bytes[HEAD_BYTES] = b'b';
        assert!(grown(&bytes));
        bytes[HEAD_BYTES - 1] = b'b';
        assert!(!grown(&bytes));
    }

    #[test]
    fn records_are_read_whole_each_time() {
        let session = Session::new(Agent::Opencode, "one", "/a".into());
        let mark = Mark::of_records(session, standing(3, 5, 7));
        assert!(mark.is_current(standing(3, 5, 7)) && !mark.is_current(standing(4, 5, 7)));
    }
}
