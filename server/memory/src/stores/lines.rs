//! Reads the whole lines of a log from an offset on.
//!
//! It must never hold more than one piece and one line of bounded length, and never take a line that is still written.

use std::io;
use std::path::Path;

use crate::files::Files;

/// Bytes that are read at once.
const PIECE_BYTES: usize = 1024 * 1024;

/// What a log holds after an offset.
pub(super) struct Lines {
    /// Behind the last whole line.
    pub(super) offset: u64,
    /// Lines that were longer than the bound.
    pub(super) too_long: u64,
}

/// Hands every whole line from `offset` up to `end` to `each`, with the place where it begins and without its end. Empty
/// lines are left out.
pub(super) fn read_lines(
    files: &dyn Files,
    path: &Path,
    offset: u64,
    end: u64,
    line_bytes_max: usize,
    mut each: impl FnMut(u64, &[u8]),
) -> io::Result<Lines> {
    let mut done = Lines { offset, too_long: 0 };
    let mut at = offset;
    let mut line: Vec<u8> = Vec::new();
    let mut is_too_long = false;
    while at < end {
        let len = usize::try_from(end - at).unwrap_or(usize::MAX).min(PIECE_BYTES);
        let piece = files.read(path, at, len)?;
        if piece.is_empty() {
            break;
        }
        let mut rest = &piece[..];
        while let Some(length) = rest.iter().position(|byte| *byte == b'\n') {
            let (head, tail) = rest.split_at(length);
            rest = &tail[1..];
            if is_too_long || line.len() + head.len() > line_bytes_max {
                done.too_long += 1;
            } else if line.is_empty() {
                hand(done.offset, head, &mut each);
            } else {
                line.extend_from_slice(head);
                hand(done.offset, &line, &mut each);
            }
            line.clear();
            is_too_long = false;
            done.offset = at + (piece.len() - rest.len()) as u64;
        }
        if line.len() + rest.len() > line_bytes_max {
            is_too_long = true;
            line.clear();
        } else if !is_too_long {
            line.extend_from_slice(rest);
        }
        at += piece.len() as u64;
    }
    Ok(done)
}

/// Reads the line that begins at `offset`, without its end; `None` if it is not whole or too long.
pub(super) fn read_line(
    files: &dyn Files,
    path: &Path,
    offset: u64,
    line_bytes_max: usize,
) -> io::Result<Option<Vec<u8>>> {
    /// Most lines are shorter than this.
    const FIRST_BYTES: usize = 16 * 1024;
    let mut line: Vec<u8> = Vec::new();
    let mut len = FIRST_BYTES;
    while line.len() <= line_bytes_max {
        let piece = files.read(path, offset + line.len() as u64, len)?;
        if piece.is_empty() {
            return Ok(None);
        }
        let end = piece.iter().position(|byte| *byte == b'\n');
        line.extend_from_slice(&piece[..end.unwrap_or(piece.len())]);
        if end.is_some() {
            return Ok(Some(line));
        }
        len = PIECE_BYTES;
    }
    Ok(None)
}

fn hand(offset: u64, line: &[u8], each: &mut impl FnMut(u64, &[u8])) {
    let line = line.trim_ascii();
    if !line.is_empty() {
        each(offset, line);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use entraclaw_seams::clock::SystemClock;
    use entraclaw_seams::storage::MemoryStorage;
    use proptest::prelude::*;

    use super::*;
    use crate::files::SimulatedFiles;

    fn lines(bytes: &[u8], offset: u64, max: usize) -> (Vec<Vec<u8>>, Lines) {
        let storage = MemoryStorage::new();
        storage.set_bytes("a", bytes);
        let files = SimulatedFiles::new(storage, Arc::new(SystemClock));
        let mut found = Vec::new();
        let end = bytes.len() as u64;
        let done = read_lines(&files, Path::new("/a"), offset, end, max, |_, line| found.push(line.to_vec()))
            .unwrap();
        (found, done)
    }

    #[test]
    fn a_line_that_is_still_written_waits() {
        let (found, done) = lines(b"one\r\n\n two \nthr", 0, 100);
        assert_eq!(found, [b"one".to_vec(), b"two".to_vec()]);
        assert_eq!(done.offset, 12);
        let (found, _) = lines(b"one\r\n\n two \nthree\n", 12, 100);
        assert_eq!(found, [b"three".to_vec()]);
    }

    #[test]
    fn a_line_without_an_end_takes_no_memory() {
        let mut bytes = vec![b'x'; 3 * PIECE_BYTES];
        bytes.extend_from_slice(b"\nshort\n");
        let (found, done) = lines(&bytes, 0, 1000);
        assert_eq!(found, [b"short".to_vec()]);
        assert_eq!((done.too_long, done.offset), (1, bytes.len() as u64));
    }

    proptest! {
        #[test]
        fn reading_in_two_steps_is_reading_in_one(texts in proptest::collection::vec("[a-z]{0,9}", 0..20), cut in 0_usize..200) {
            let bytes = texts.join("\n").into_bytes();
            let cut = cut.min(bytes.len());
            let (whole, _) = lines(&bytes, 0, 100);
            let (mut first, done) = lines(&bytes[..cut], 0, 100);
            first.extend(lines(&bytes, done.offset, 100).0);
            prop_assert_eq!(first, whole);
        }
    }
    #[test]
    fn a_line_may_be_as_long_as_its_bound() {
        for (max, expected, too_long) in [(5, &["12345", "1"][..], 0), (4, &["1"], 1), (0, &[], 2)] {
            let (found, done) = lines(b"12345\n1\n", 0, max);
            let expected: Vec<Vec<u8>> = expected.iter().map(|line| line.as_bytes().to_vec()).collect();
            assert_eq!((found, done.too_long, done.offset), (expected, too_long, 8), "{max}");
        }
    }

    #[test]
    fn a_line_over_several_pieces_is_one_and_has_its_place() {
        let long = vec![b'x'; 2 * PIECE_BYTES + 10];
        let bytes = [b"first\n", &long[..], b"\n\nlast\n"].concat();
        let storage = MemoryStorage::new();
        storage.set_bytes("a", &bytes);
        let files = SimulatedFiles::new(storage, Arc::new(SystemClock));
        let end = bytes.len() as u64;
        for (max, places) in [
            (long.len(), vec![(0, 5), (6, long.len()), (8 + long.len() as u64, 4)]),
            (long.len() - 1, vec![(0, 5), (8 + long.len() as u64, 4)]),
        ] {
            let mut found = Vec::new();
            let each = |at: u64, line: &[u8]| found.push((at, line.len()));
            let done = read_lines(&files, Path::new("/a"), 0, end, max, each).unwrap();
            let too_long = u64::from(places.len() == 2);
            assert_eq!((found, done.offset, done.too_long), (places, end, too_long));
        }
        let again = |at: u64, max: usize| read_line(&files, Path::new("/a"), at, max).unwrap();
        assert_eq!(again(0, 100), Some(b"first".to_vec()));
        assert_eq!(again(2, 100), Some(b"rst".to_vec()));
        assert_eq!(again(6, long.len()), Some(long.clone()));
        assert_eq!(again(6, 100), None);
        assert_eq!(again(8 + long.len() as u64, 100), Some(b"last".to_vec()));
        assert_eq!(again(end, 100), None);
    }

    #[test]
    fn a_line_as_long_as_a_piece_and_as_its_bound_is_read() {
        let line = vec![b'x'; PIECE_BYTES];
        let bytes = [&line[..], b"\nlast\n"].concat();
        let (found, done) = lines(&bytes, 0, PIECE_BYTES);
        assert_eq!((found.len(), done.too_long), (2, 0));
        let (found, done) = lines(&bytes, 0, PIECE_BYTES - 1);
        assert_eq!((found, done.too_long), (vec![b"last".to_vec()], 1));
    }

    #[test]
    fn a_line_that_is_not_whole_is_not_read_again() {
        let storage = MemoryStorage::new();
        storage.set_bytes("a", b"one\ntw");
        let files = SimulatedFiles::new(storage, Arc::new(SystemClock));
        assert_eq!(read_line(&files, Path::new("/a"), 4, 100).unwrap(), None);
    }

    #[test]
    fn only_what_lies_before_the_end_is_read() {
        let storage = MemoryStorage::new();
        storage.set_bytes("a", b"one\ntwo\nthree\n");
        let files = SimulatedFiles::new(storage, Arc::new(SystemClock));
        for (begin, end, expected, offset) in
            [(0, 8, 2, 8), (0, 7, 1, 4), (4, 8, 1, 8), (4, 99, 2, 14), (8, 8, 0, 8), (9, 8, 0, 9)]
        {
            let mut count = 0;
            let done = read_lines(&files, Path::new("/a"), begin, end, 100, |_, _| count += 1).unwrap();
            assert_eq!((count, done.offset), (expected, offset), "{begin} to {end}");
        }
    }
}
