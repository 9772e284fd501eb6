//! Reads the lines of a file with bounded memory.
//!
//! It must never decide whether a line is intact; it only says where the line begins and whether it has its
//! newline.

use std::io;

use entraclaw_seams::storage::Storage;

const CHUNK_BYTES: usize = 1024 * 1024;
/// A longer piece without a newline is no line of a journal, and is given out in parts.
pub(super) const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// A stretch of a file up to a newline or the end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece<'a> {
    /// The offset in the file at which the piece begins.
    pub(super) offset: u64,
    /// The bytes without the newline.
    pub(super) bytes: &'a [u8],
    /// Whether a newline followed.
    pub(super) ended: bool,
}

impl Piece<'_> {
    /// The offset at which the next piece begins.
    pub(super) fn end(&self) -> u64 {
        self.offset + self.bytes.len() as u64 + u64::from(self.ended)
    }
}

/// Reads a file in pieces.
pub(super) struct Lines<'a> {
    storage: &'a dyn Storage,
    path: &'a str,
    /// The offset of the next read.
    read_offset: u64,
    end: u64,
    buffer: Vec<u8>,
    /// How much of the buffer was given out.
    used: usize,
}

impl<'a> Lines<'a> {
    /// The pieces of `path` from `offset` up to `end`.
    pub(super) fn new(storage: &'a dyn Storage, path: &'a str, offset: u64, end: u64) -> Self {
        Self { storage, path, read_offset: offset, end, buffer: Vec::new(), used: 0 }
    }

    /// The next piece, or `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Piece<'_>>> {
        let mut searched = self.used;
        let (len, ended) = loop {
            if let Some(at) = self.buffer[searched..].iter().position(|b| *b == b'\n') {
                break (searched + at - self.used, true);
            }
            searched = self.buffer.len();
            if searched - self.used >= LINE_BYTES_MAX || !self.fill()? {
                break (self.buffer.len() - self.used, false);
            }
            searched -= self.take_used();
        };
        if len == 0 && !ended {
            return Ok(None);
        }
        let start = self.used;
        let offset = self.read_offset - (self.buffer.len() - start) as u64;
        self.used = start + len + usize::from(ended);
        Ok(Some(Piece { offset, bytes: &self.buffer[start..start + len], ended }))
    }

    /// Reads one more chunk into the buffer; false at the end of the file.
    fn fill(&mut self) -> io::Result<bool> {
        let left = usize::try_from(self.end.saturating_sub(self.read_offset)).unwrap_or(usize::MAX);
        if left == 0 {
            return Ok(false);
        }
        let chunk = self.storage.read(self.path, self.read_offset, left.min(CHUNK_BYTES))?;
        self.read_offset += chunk.len() as u64;
        self.buffer.extend_from_slice(&chunk);
        Ok(!chunk.is_empty())
    }

    /// Removes from the buffer what was given out; returns how much that was.
    fn take_used(&mut self) -> usize {
        let used = std::mem::take(&mut self.used);
        self.buffer.drain(..used);
        used
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use entraclaw_seams::storage::MemoryStorage;

    fn pieces(content: &[u8], from: u64) -> Vec<(u64, Vec<u8>, bool)> {
        let storage = MemoryStorage::new();
        storage.set_bytes("f", content);
        let mut lines = Lines::new(&storage, "f", from, content.len() as u64);
        let mut found = Vec::new();
        while let Some(piece) = lines.next().unwrap() {
            found.push((piece.offset, piece.bytes.to_vec(), piece.ended));
        }
        found
    }

    #[test]
    fn pieces_know_where_they_begin() {
        let all = [(0, b"a".to_vec(), true), (2, Vec::new(), true), (3, b"bc".to_vec(), false)];
        assert_eq!(pieces(b"a\n\nbc", 0), all);
        assert_eq!(pieces(b"a\n\nbc", 2), all[1..]);
        assert_eq!(pieces(b"", 0), []);
    }

    #[test]
    fn lines_may_cross_chunks() {
        let mut content = vec![b'x'; CHUNK_BYTES - 2];
        content.extend_from_slice(b"\nhello\nend\n");
        let found = pieces(&content, 0);
        assert_eq!(found[1].1, b"hello");
        assert_eq!(found[1].0, (CHUNK_BYTES - 1) as u64);
        assert_eq!(found[2], ((CHUNK_BYTES + 5) as u64, b"end".to_vec(), true));
    }

    #[test]
    fn a_monster_comes_in_parts() {
        let found = pieces(&vec![b'x'; LINE_BYTES_MAX + 5], 0);
        assert_eq!(found.len(), 2);
        assert!(found.iter().all(|(_, _, ended)| !ended));
    }
}
