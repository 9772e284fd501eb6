//! Compares the expected with the observed text, line by line and word by word. The work must be bounded for
//! any input, and must never have a time limit, or the same events could give other bytes.

use schemars::JsonSchema;
use serde::Serialize;
use similar::{ChangeTag, TextDiff};

use crate::text::cut;

/// Bytes of each side that are compared.
pub const SIDE_BYTES_MAX: usize = 16 * 1024;
/// Lines of a difference that are kept.
pub const LINES_MAX: usize = 120;
/// Unchanged lines that are kept around a change.
const CONTEXT_LINES: usize = 2;

/// The side from which a line comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// On both sides.
    Both,
    /// Expected and missing.
    Expected,
    /// Present and not expected.
    Observed,
    /// No line, but a note on left-out ones.
    LeftOut,
}

impl Side {
    /// The sign before the line.
    pub fn sign(self) -> char {
        match self {
            Self::Both => ' ',
            Self::Expected => '-',
            Self::Observed => '+',
            Self::LeftOut => '…',
        }
    }
}

/// Consecutive characters that all differ, or all agree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Piece {
    /// The characters unchanged, including hidden ones.
    pub text: String,
    /// Whether the other side lacks them.
    pub changed: bool,
}

/// One line of a difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Line {
    /// The side from which it comes.
    pub side: Side,
    /// The line without its line feed, in pieces.
    pub pieces: Vec<Piece>,
}

impl Line {
    fn new(side: Side, pieces: Vec<Piece>) -> Self {
        Self { side, pieces }
    }

    fn note(text: String) -> Self {
        Self::new(Side::LeftOut, vec![Piece { text, changed: false }])
    }

    /// The text of the whole line.
    pub fn text(&self) -> String {
        self.pieces.iter().map(|piece| piece.text.as_str()).collect()
    }
}

/// Compares two texts. Equal texts give no lines.
pub fn lines(expected: &str, observed: &str) -> Vec<Line> {
    if expected == observed {
        return Vec::new();
    }
    let (old, new) = (cut(expected, SIDE_BYTES_MAX), cut(observed, SIDE_BYTES_MAX));
    let mut found = Vec::new();
    let diff = TextDiff::from_lines(old.head, new.head);
    for change in diff.iter_all_changes() {
        let side = match change.tag() {
            ChangeTag::Equal => Side::Both,
            ChangeTag::Delete => Side::Expected,
            ChangeTag::Insert => Side::Observed,
        };
        // Only the line feed is removed: a carriage return may be the difference.
        let value = change.value();
        let text = value.strip_suffix('\n').unwrap_or(value).to_owned();
        found.push(Line::new(side, vec![Piece { text, changed: side != Side::Both }]));
    }
    compare_words(&mut found);
    let mut kept = fold(found);
    if kept.len() > LINES_MAX {
        let left_out = kept.len() - LINES_MAX;
        kept.truncate(LINES_MAX);
        kept.push(Line::note(format!("{left_out} more lines left out")));
    }
    for (name, side) in [("expected", old), ("observed", new)] {
        if side.left_out_bytes > 0 {
            kept.push(Line::note(format!("{} bytes of the {name} text left out", side.left_out_bytes)));
        }
    }
    kept
}

/// The words of two texts, with those marked that the other text lacks.
pub fn words(first: &str, second: &str) -> (Vec<Piece>, Vec<Piece>) {
    let (mut left, mut right) = (Vec::new(), Vec::new());
    let diff = TextDiff::from_words(first, second);
    for change in diff.iter_all_changes() {
        let value = change.value();
        match change.tag() {
            ChangeTag::Equal => {
                push(&mut left, value, false);
                push(&mut right, value, false);
            }
            ChangeTag::Delete => push(&mut left, value, true),
            ChangeTag::Insert => push(&mut right, value, true),
        }
    }
    (left, right)
}

fn push(pieces: &mut Vec<Piece>, text: &str, changed: bool) {
    match pieces.last_mut() {
        Some(last) if last.changed == changed => last.text.push_str(text),
        _ => pieces.push(Piece { text: text.to_owned(), changed }),
    }
}

/// Marks the words that differ if equally many lines were removed and added.
fn compare_words(lines: &mut [Line]) {
    let mut start = 0;
    while start < lines.len() {
        let gone = run(lines, start, Side::Expected);
        let come = run(lines, start + gone, Side::Observed);
        if gone > 0 && gone == come {
            for offset in 0..gone {
                let (old, new) = (start + offset, start + gone + offset);
                let (left, right) = words(&lines[old].text(), &lines[new].text());
                lines[old].pieces = left;
                lines[new].pieces = right;
            }
        }
        start += (gone + come).max(1);
    }
}

fn run(lines: &[Line], start: usize, side: Side) -> usize {
    lines[start.min(lines.len())..].iter().take_while(|line| line.side == side).count()
}

/// Replaces long runs of unchanged lines by their number.
fn fold(lines: Vec<Line>) -> Vec<Line> {
    let mut kept = Vec::new();
    let mut same = Vec::new();
    for line in lines {
        if line.side == Side::Both {
            same.push(line);
            continue;
        }
        fold_same(&mut kept, std::mem::take(&mut same), false);
        kept.push(line);
    }
    fold_same(&mut kept, same, true);
    kept
}

fn fold_same(kept: &mut Vec<Line>, mut same: Vec<Line>, last: bool) {
    let head = if kept.is_empty() { 0 } else { CONTEXT_LINES };
    let tail = if last { 0 } else { CONTEXT_LINES };
    if same.len() <= head + tail + 1 {
        kept.append(&mut same);
        return;
    }
    let after = same.split_off(same.len() - tail);
    let left_out = same.len() - head;
    same.truncate(head);
    kept.append(&mut same);
    kept.push(Line::note(format!("{left_out} equal lines")));
    kept.extend(after);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(lines: &[Line]) -> Vec<String> {
        lines.iter().map(|line| format!("{}{}", line.side.sign(), line.text())).collect()
    }

    #[test]
    fn equal_texts_have_no_difference() {
        assert!(lines("same", "same").is_empty());
    }

    #[test]
    fn a_changed_word_is_marked_and_its_neighbours_are_not() {
        let found = lines("hello Alice and Bob\n", "hello Alicia and Bob\n");
        assert_eq!(plain(&found), ["-hello Alice and Bob", "+hello Alicia and Bob"]);
        let changed: Vec<_> = found[1].pieces.iter().filter(|piece| piece.changed).collect();
        assert_eq!(changed.len(), 1);
        assert_eq!(changed[0].text, "Alicia");
    }

    #[test]
    fn far_lines_are_folded_and_counted() {
        let many = (0..50).map(|line| format!("line {line}\n")).collect::<Vec<_>>().concat();
        let other = many.replace("line 25\n", "line twenty-five\n");
        let found = plain(&lines(&many, &other));
        assert_eq!(found.first().unwrap(), "…23 equal lines");
        assert_eq!(found.last().unwrap(), "…22 equal lines");
        assert_eq!(found.len(), 2 + 2 * CONTEXT_LINES + 2);
    }

    #[test]
    fn a_long_text_is_cut_with_a_note() {
        let long = "x ".repeat(SIDE_BYTES_MAX);
        let found = plain(&lines(&long, "y"));
        assert!(found.last().unwrap().contains("bytes of the expected text left out"), "{found:?}");
        let many = (0..2_000).map(|line| format!("{line}\n")).collect::<Vec<_>>().concat();
        let found = plain(&lines(&many, ""));
        assert!(found.iter().any(|line| line.contains("more lines left out")), "{}", found.len());
    }

    #[test]
    fn a_carriage_return_is_a_difference() {
        assert_eq!(plain(&lines("a\r\n", "a\n")), ["-a\r", "+a"]);
    }
}
