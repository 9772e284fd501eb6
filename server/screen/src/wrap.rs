//! Breaks a text into lines of a width, at blanks where it can, and remembers them while the text grows.
//!
//! It must never make a line that is wider than asked, unless one character alone is.

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// The lines of a text that grows at its end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wrapped {
    width: usize,
    lines: Vec<String>,
    /// Lines and bytes that hold the paragraphs which can't change any more.
    settled: (usize, usize),
}

impl Wrapped {
    /// The lines of a text that begins with the text of the last time.
    pub(crate) fn lines(&mut self, text: &str, width: usize) -> &[String] {
        if self.width != width {
            *self = Self { width, ..Self::default() };
        }
        self.lines.truncate(self.settled.0);
        let mut at = self.settled.1;
        while let Some(end) = text.get(at..).and_then(|rest| rest.find('\n')) {
            paragraph(&text[at..at + end], width, &mut self.lines);
            at += end + 1;
            self.settled = (self.lines.len(), at);
        }
        paragraph(text.get(at..).unwrap_or_default(), width, &mut self.lines);
        &self.lines
    }

    /// Forgets the text.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }
}

/// The lines of a text.
pub(crate) fn lines(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for part in text.split('\n') {
        paragraph(part, width, &mut lines);
    }
    lines
}

/// As much of a text as fits.
pub(crate) fn hard(text: &str, width: usize) -> &str {
    let mut columns = 0;
    for (at, one) in text.grapheme_indices(true) {
        columns += one.width();
        if columns > width {
            return &text[..at];
        }
    }
    text
}

fn paragraph(text: &str, width: usize, lines: &mut Vec<String>) {
    let width = width.max(1);
    if text.is_ascii() && text.len() <= width {
        lines.push(text.trim_end().to_owned());
        return;
    }
    let indent = text.len() - text.trim_start_matches(' ').len();
    let (mut start, mut columns) = (0, 0);
    // Behind the last blank of this line, and the columns up to there.
    let mut blank: Option<(usize, usize)> = None;
    for (at, one) in text.grapheme_indices(true) {
        let wide = one.width();
        if columns + wide > width && at > start {
            if one == " " {
                // Blanks at the end of a line are not shown.
                blank = Some((at + 1, columns + 1));
                columns += 1;
                continue;
            }
            let (end, before) = blank.take().filter(|(end, _)| *end > start).unwrap_or((at, columns));
            lines.push(text[start..end].trim_end().to_owned());
            start = end;
            columns -= before;
        }
        columns += wide;
        if one == " " && at >= indent {
            blank = Some((at + 1, columns));
        }
    }
    lines.push(text[start..].trim_end().to_owned());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::glyph;

    #[test]
    fn words_stay_whole_and_code_keeps_its_indent() {
        assert_eq!(lines("one two three", 8), ["one two", "three"]);
        assert_eq!(lines("    fn x() {\n    }", 20), ["    fn x() {", "    }"]);
        assert_eq!(lines("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(lines("漢字漢字", 5), ["漢字", "漢字"]);
        assert_eq!(lines("a    b", 3), ["a", "b"]);
        assert_eq!(lines("", 3), [""]);
    }

    #[test]
    fn a_text_that_was_forgotten_leaves_no_line() {
        let mut wrapped = Wrapped::default();
        assert_eq!(wrapped.lines("one\ntwo\n", 8), ["one", "two", ""]);
        wrapped.forget();
        assert_eq!(wrapped.lines("six\nten\n", 8), ["six", "ten", ""]);
    }

    proptest! {
        #[test]
        fn no_line_is_too_wide_and_no_word_is_lost(raw in "[ a-c漢é\n]{0,80}", width in 2_usize..12) {
            let text = glyph::text(&raw);
            let lines = lines(&text, width);
            prop_assert!(lines.iter().all(|line| glyph::columns(line) <= width), "{lines:?}");
            let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(letters(&lines.concat()), letters(&text));
        }

        #[test]
        fn a_text_that_grew_is_broken_like_one_that_came_at_once(
            parts in proptest::collection::vec("[ a-c漢\n]{0,9}", 0..12), width in 1_usize..12,
        ) {
            let (mut text, mut wrapped) = (String::new(), Wrapped::default());
            for part in &parts {
                text.push_str(part);
                prop_assert_eq!(wrapped.lines(&text, width).to_vec(), lines(&text, width));
            }
        }
    }
}
