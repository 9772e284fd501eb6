//! Splits the chunks of a pipe into lines. It never holds more than the limit of one line.

/// A line, or its beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// Its bytes without the newline, at most the limit of the splitter.
    pub bytes: Vec<u8>,
    /// Its whole size, if that is more.
    pub cut_from_bytes: Option<u64>,
    /// The pipe ended before the newline.
    pub unended: bool,
}

/// Joins the chunks of one direction into lines.
#[derive(Debug)]
pub struct Splitter {
    line_bytes_max: usize,
    partial: Vec<u8>,
    /// Bytes of the current line, kept or not.
    size: u64,
    /// The rest of a line whose beginning is lost is skipped.
    skipping: bool,
}

impl Splitter {
    /// A splitter for a pipe of which nothing was read; it keeps this many bytes of a line.
    pub fn new(line_bytes_max: usize) -> Self {
        Self { line_bytes_max, partial: Vec::new(), size: 0, skipping: false }
    }

    /// Chunks are missing before the next one; `mid_line` says whether that one begins within a lost line.
    pub fn gap(&mut self, mid_line: bool) {
        self.partial.clear();
        self.size = 0;
        self.skipping = mid_line;
    }

    /// Takes the next chunk and gives the lines that end in it.
    pub fn chunk(&mut self, bytes: &[u8]) -> Vec<Split> {
        let mut lines = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let body = piece.strip_suffix(b"\n");
            self.keep(body.unwrap_or(piece));
            if body.is_some()
                && let Some(line) = self.take(false)
            {
                lines.push(line);
            }
        }
        lines
    }

    /// The pipe has ended; gives the text after the last newline.
    pub fn end(&mut self) -> Option<Split> {
        if self.size == 0 { None } else { self.take(true) }
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.size += bytes.len() as u64;
        if !self.skipping {
            let room = self.line_bytes_max.saturating_sub(self.partial.len()).min(bytes.len());
            self.partial.extend_from_slice(&bytes[..room]);
        }
    }

    fn take(&mut self, unended: bool) -> Option<Split> {
        let bytes = std::mem::take(&mut self.partial);
        let size = std::mem::take(&mut self.size);
        if std::mem::take(&mut self.skipping) {
            return None;
        }
        let cut_from_bytes = (size > bytes.len() as u64).then_some(size);
        Some(Split { bytes, cut_from_bytes, unended })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE_BYTES_MAX: usize = 1024;

    fn texts(lines: &[Split]) -> Vec<&str> {
        lines.iter().map(|line| std::str::from_utf8(&line.bytes).unwrap()).collect()
    }

    #[test]
    fn lines_are_the_same_however_they_are_cut_into_chunks() {
        let all = b"one\ntwo\r\n\nlast";
        for size in 1..=all.len() {
            let mut splitter = Splitter::new(LINE_BYTES_MAX);
            let mut lines: Vec<_> = all.chunks(size).flat_map(|chunk| splitter.chunk(chunk)).collect();
            lines.extend(splitter.end());
            assert_eq!(texts(&lines), ["one", "two\r", "", "last"], "{size}");
            assert!(lines[3].unended && !lines[2].unended);
        }
    }

    #[test]
    fn a_gap_costs_the_lines_that_it_touches_and_no_other() {
        let mut splitter = Splitter::new(LINE_BYTES_MAX);
        assert!(splitter.chunk(b"begun").is_empty());
        splitter.gap(true);
        assert_eq!(texts(&splitter.chunk(b"rest of a lost one\nwhole\n")), ["whole"]);
        splitter.gap(false);
        assert_eq!(texts(&splitter.chunk(b"next\n")), ["next"]);
    }

    #[test]
    fn a_huge_line_is_cut_and_its_size_told() {
        let mut splitter = Splitter::new(LINE_BYTES_MAX);
        let mut lines = splitter.chunk(&vec![b'x'; LINE_BYTES_MAX]);
        lines.extend(splitter.chunk(b"yz\nafter\n"));
        assert_eq!(lines[0].bytes.len(), LINE_BYTES_MAX);
        assert_eq!(lines[0].cut_from_bytes, Some(LINE_BYTES_MAX as u64 + 2));
        assert_eq!((lines[1].bytes.as_slice(), lines[1].cut_from_bytes), (&b"after"[..], None));
        assert_eq!(splitter.end(), None);
    }
}
