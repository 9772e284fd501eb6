//! Splits bytes into lines: newline-delimited JSON, with a bound on each line.
//!
//! It must never keep more than the bound, never lose the line after a broken one, and never interpret a line.

use super::id_scan::IdScan;
use super::message::Id;

/// Longest line that is parsed, in bytes. A longer one is discarded while it streams in.
pub const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The content between two newlines.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// A line that is not blank, without its end and without a byte order mark.
    Line(Vec<u8>),
    /// A line over the bound; `id` if it was a request whose id could be read while it passed.
    Oversize { id: Option<Id> },
}

/// Splits a byte stream into frames. An incomplete line at the end of the stream is never returned.
pub(crate) struct Framer {
    buffer: Vec<u8>,
    /// The start of the current line.
    start: usize,
    /// The first byte that was not yet searched for a newline.
    searched: usize,
    discarding: Option<IdScan>,
    line_bytes_max: usize,
}

impl Framer {
    pub(crate) fn new(line_bytes_max: usize) -> Self {
        Self { buffer: Vec::new(), start: 0, searched: 0, discarding: None, line_bytes_max }
    }

    /// Adds bytes that were read.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.searched -= self.start;
            self.start = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The number of buffered bytes: complete lines not yet taken, and the beginning of the next.
    pub(crate) fn buffered_bytes(&self) -> usize {
        self.buffer.len() - self.start
    }

    /// The next complete line, if there is one.
    pub(crate) fn next_frame(&mut self) -> Option<Frame> {
        loop {
            let newline = self.buffer[self.searched..].iter().position(|&byte| byte == b'\n');
            let end = newline.map_or(self.buffer.len(), |at| self.searched + at);
            if self.discarding.is_some() || end - self.start > self.line_bytes_max {
                let scan = self.discarding.get_or_insert_default();
                scan.feed(&self.buffer[self.start..end]);
                self.start = if newline.is_some() { end + 1 } else { end };
                self.searched = self.start;
                newline?;
                let id = self.discarding.take().and_then(IdScan::request_id);
                return Some(Frame::Oversize { id });
            }
            if newline.is_none() {
                self.searched = end;
                return None;
            }
            let line = trim(&self.buffer[self.start..end]);
            let frame = (!line.is_empty()).then(|| Frame::Line(line.to_vec()));
            self.start = end + 1;
            self.searched = self.start;
            if frame.is_some() {
                return frame;
            }
        }
    }
}

fn trim(line: &[u8]) -> &[u8] {
    line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line).trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(line_bytes_max: usize, input: &[u8], chunk: usize) -> Vec<Frame> {
        let mut framer = Framer::new(line_bytes_max);
        let mut found = Vec::new();
        for piece in input.chunks(chunk) {
            framer.push(piece);
            while let Some(frame) = framer.next_frame() {
                found.push(frame);
            }
            assert!(framer.buffered_bytes() <= line_bytes_max + chunk);
            assert!(framer.buffer.len() <= line_bytes_max + 2 * chunk, "what was read is let go");
        }
        found
    }

    fn line(text: &str) -> Frame {
        Frame::Line(text.as_bytes().to_vec())
    }

    #[test]
    fn lines_are_split_for_any_size_of_reads() {
        let input = b"\xef\xbb\xbf{\"a\":1}\r\n\n   \r\n{\"b\":2}\nhalf";
        for chunk in 1..input.len() {
            assert_eq!(frames(64, input, chunk), [line("{\"a\":1}"), line("{\"b\":2}")], "chunk {chunk}");
        }
    }

    #[test]
    fn an_oversize_line_names_its_id_and_the_next_line_is_whole() {
        let long = format!(
            "{{\"method\":\"m\",\"params\":{{\"id\":9,\"t\":\"{}\"}},\"id\":7}}\n{{}}\n",
            "x".repeat(500)
        );
        for chunk in [1, 7, 100, 1000] {
            assert_eq!(
                frames(100, long.as_bytes(), chunk),
                [Frame::Oversize { id: Some(Id::Number(7)) }, line("{}")],
                "chunk {chunk}"
            );
        }
    }

    #[test]
    fn a_line_of_exactly_the_bound_passes() {
        let input = format!("{}\n{}\n", "1".repeat(10), "1".repeat(11));
        assert_eq!(frames(10, input.as_bytes(), 3), [line("1111111111"), Frame::Oversize { id: None }]);
    }
}
