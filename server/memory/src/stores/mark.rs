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
