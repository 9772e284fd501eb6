//! The beginning and the end of a long output.

use std::collections::VecDeque;

/// Output with its middle left out, in bounded memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    half: usize,
    bytes: u64,
}

impl Kept {
    /// Keeps this many bytes: half from the beginning, half from the end.
    pub fn new(bytes_max: usize) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), half: bytes_max / 2, bytes: 0 }
    }

    /// Takes the next piece.
    pub fn push(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        let (head, rest) = piece.split_at(piece.len().min(self.half - self.head.len()));
        self.head.extend_from_slice(head);
        let rest = &rest[rest.len().saturating_sub(self.half)..];
        let over = (self.tail.len() + rest.len()).saturating_sub(self.half);
        self.tail.drain(..over);
        self.tail.extend(rest);
    }

    /// How many bytes came, kept or not.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many bytes were left out.
    pub fn left_out(&self) -> u64 {
        self.bytes - (self.head.len() + self.tail.len()) as u64
    }

    /// The text, with a line that says what was left out.
    pub fn text(&self) -> String {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        if self.left_out() == 0 {
            let whole = [self.head.as_slice(), &tail].concat();
            return String::from_utf8_lossy(&whole).into_owned();
        }
        let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(&tail));
        format!("{head}\n[{} bytes left out here]\n{tail}", self.left_out())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_output_keeps_its_ends_and_says_so() {
        let mut kept = Kept::new(8);
        kept.push(b"abcdef");
        kept.push(b"ghijkl");
        assert_eq!(kept.text(), "abcd\n[4 bytes left out here]\nijkl");
        assert_eq!(kept.bytes(), 12);
    }

    #[test]
    fn a_short_output_is_whole() {
        let mut kept = Kept::new(8);
        kept.push("añb".as_bytes());
        kept.push(b"cde");
        assert_eq!(kept.text(), "añbcde");
    }
}
