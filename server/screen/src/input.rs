//! The line in which a person writes: it has a cursor, may have several lines, and knows what was sent before.
//!
//! A paste is the same as typing its characters; it must never send anything by itself.

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation as _};
use unicode_width::UnicodeWidthStr as _;

use crate::glyph;
use crate::keys::Key;

/// Longest message, in bytes; the engine takes no longer ones.
pub const BYTES_MAX: usize = 256 * 1024;
/// Most sent messages that are remembered.
const SENT_MAX: usize = 100;

/// The line in which a person writes.
#[derive(Debug, Clone, Default)]
pub struct Input {
    text: String,
    /// A byte of the text at which a character begins, or its end.
    cursor: usize,
    sent: Vec<String>,
    /// Which sent message is shown, counted from the last one, and what was written before.
    recalled: Option<(usize, String)>,
}

/// The input as it is drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rows {
    pub(crate) rows: Vec<String>,
    /// The row and the column of the cursor.
    pub(crate) cursor: (usize, usize),
}

impl Input {
    /// What is written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where the cursor is, in bytes.
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// Whether nothing is written.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Takes what is written, and remembers it.
    pub fn take(&mut self) -> String {
        let text = std::mem::take(&mut self.text);
        self.clear();
        if !text.trim().is_empty() && self.sent.last() != Some(&text) {
            self.sent.push(text.clone());
            if self.sent.len() > SENT_MAX {
                self.sent.remove(0);
            }
        }
        text
    }

    /// Removes what is written.
    pub fn clear(&mut self) {
        self.text.clear();
        self.cursor = 0;
        self.recalled = None;
    }

    /// Writes a text at the cursor.
    pub fn write(&mut self, text: &str) {
        let tail = self.text.split_off(self.cursor);
        let mut before = None;
        for c in text.chars() {
            match c {
                // One line end, and not two.
                '\n' if before == Some('\r') => {}
                '\n' | '\r' => self.push('\n', tail.len()),
                '\t' => (0..4).for_each(|_| self.push(' ', tail.len())),
                c if glyph::may_be_typed(c) => self.push(c, tail.len()),
                _ => {}
            }
            before = Some(c);
        }
        self.cursor = self.text.len();
        self.text.push_str(&tail);
    }

    fn push(&mut self, c: char, behind: usize) {
        if self.text.len() + behind + c.len_utf8() <= BYTES_MAX {
            self.text.push(c);
        }
    }

    /// Edits by a key. The answer is whether it was one for editing.
    pub fn edit(&mut self, key: &Key) -> bool {
        match key {
            Key::Char(c) => self.write(c.encode_utf8(&mut [0; 4])),
            Key::Paste(text) => self.write(text),
            Key::NewLine => self.write("\n"),
            Key::Backspace => self.remove(self.left(), self.cursor),
            Key::Delete => self.remove(self.cursor, self.right()),
            Key::DeleteWord => self.remove(self.word_left(), self.cursor),
            Key::DeleteToEnd => self.remove(self.cursor, self.line_end()),
            Key::DeleteToStart => self.remove(self.line_start(), self.cursor),
            Key::Left => self.cursor = self.left(),
            Key::Right => self.cursor = self.right(),
            Key::WordLeft => self.cursor = self.word_left(),
            Key::WordRight => self.cursor = self.word_right(),
            Key::Home => self.cursor = self.line_start(),
            Key::End => self.cursor = self.line_end(),
            Key::Up => self.up(),
            Key::Down => self.down(),
            _ => return false,
        }
        true
    }

    fn remove(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.cursor = from;
    }

    fn left(&self) -> usize {
        let mut at = GraphemeCursor::new(self.cursor, self.text.len(), true);
        at.prev_boundary(&self.text, 0).ok().flatten().unwrap_or(0)
    }

    fn right(&self) -> usize {
        let mut at = GraphemeCursor::new(self.cursor, self.text.len(), true);
        at.next_boundary(&self.text, 0).ok().flatten().unwrap_or(self.text.len())
    }

    fn word_left(&self) -> usize {
        let before = self.text[..self.cursor].trim_end();
        before.char_indices().rev().find(|(_, c)| c.is_whitespace()).map_or(0, |(at, c)| at + c.len_utf8())
    }

    fn word_right(&self) -> usize {
        let behind = &self.text[self.cursor..];
        let word = behind.len() - behind.trim_start().len();
        let end = behind[word..].find(char::is_whitespace).unwrap_or(behind.len() - word);
        self.cursor + word + end
    }

    fn line_start(&self) -> usize {
        self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.text[self.cursor..].find('\n').map_or(self.text.len(), |at| self.cursor + at)
    }

    /// The byte of a line that is as many characters from its start.
    fn in_line(&self, start: usize, characters: usize) -> usize {
        let end = self.text[start..].find('\n').map_or(self.text.len(), |at| start + at);
        self.text[start..end].grapheme_indices(true).nth(characters).map_or(end, |(at, _)| start + at)
    }

    fn up(&mut self) {
        let start = self.line_start();
        if start == 0 {
            return self.recall(1);
        }
        let characters = self.text[start..self.cursor].graphemes(true).count();
        let above = self.text[..start - 1].rfind('\n').map_or(0, |at| at + 1);
        self.cursor = self.in_line(above, characters);
    }

    fn down(&mut self) {
        let (start, end) = (self.line_start(), self.line_end());
        if end == self.text.len() {
            return self.recall(-1);
        }
        let characters = self.text[start..self.cursor].graphemes(true).count();
        self.cursor = self.in_line(end + 1, characters);
    }

    fn recall(&mut self, step: isize) {
        let shown = self.recalled.as_ref().map_or(0, |(at, _)| *at);
        let Some(next) = shown.checked_add_signed(step).filter(|next| *next <= self.sent.len()) else {
            return;
        };
        let draft = match self.recalled.take() {
            Some((_, draft)) => draft,
            None => self.text.clone(),
        };
        if next == 0 {
            self.text = draft;
        } else {
            self.text.clone_from(&self.sent[self.sent.len() - next]);
            self.recalled = Some((next, draft));
        }
        self.cursor = self.text.len();
    }

    /// The rows of this width, and where the cursor is in them.
    pub(crate) fn rows(&self, width: usize) -> Rows {
        let width = width.max(2);
        let (mut rows, mut row, mut column) = (Vec::new(), String::new(), 0);
        let mut cursor = None;
        for (at, one) in self.text.grapheme_indices(true) {
            if one == "\n" {
                if at >= self.cursor && cursor.is_none() {
                    cursor = Some((rows.len(), column));
                }
                rows.push(std::mem::take(&mut row));
                column = 0;
                continue;
            }
            let cell = glyph::shown(one);
            let wide = cell.width();
            if column + wide > width {
                rows.push(std::mem::take(&mut row));
                column = 0;
            }
            if at >= self.cursor && cursor.is_none() {
                cursor = Some((rows.len(), column));
            }
            row.push_str(&cell);
            column += wide;
        }
        // The cursor behind a full row stands in the next one.
        if cursor.is_none() && column >= width {
            rows.push(std::mem::take(&mut row));
            column = 0;
        }
        let cursor = cursor.unwrap_or((rows.len(), column));
        rows.push(row);
        Rows { rows, cursor }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> Input {
        let mut input = Input::default();
        input.write(text);
        input
    }

    fn press(input: &mut Input, keys: &[Key]) {
        for key in keys {
            assert!(input.edit(key), "{key:?}");
        }
    }

    #[test]
    fn a_character_is_what_a_reader_sees_as_one() {
        let mut input = written("ae\u{301}👨‍👩‍👧");
        press(&mut input, &[Key::Backspace]);
        assert_eq!(input.text(), "ae\u{301}");
        press(&mut input, &[Key::Left, Key::Delete]);
        assert_eq!(input.text(), "a");
    }

    #[test]
    fn the_cursor_goes_by_words() {
        let mut input = written("one  two");
        press(&mut input, &[Key::WordLeft, Key::WordLeft]);
        for at in [3, 8, 8] {
            press(&mut input, &[Key::WordRight]);
            assert_eq!(input.cursor, at);
        }
    }

    #[test]
    fn words_and_lines_are_removed() {
        let mut input = written("one two\nthree four");
        press(&mut input, &[Key::DeleteWord]);
        assert_eq!(input.text(), "one two\nthree ");
        press(&mut input, &[Key::DeleteToStart, Key::Up, Key::DeleteToEnd]);
        assert_eq!(input.text(), "\n");
    }

    #[test]
    fn up_and_down_move_in_lines_and_then_recall_what_was_sent() {
        let mut input = written("first");
        assert_eq!(input.take(), "first");
        input.write("a\nbc");
        press(&mut input, &[Key::Up]);
        assert_eq!(input.cursor(), 1, "the line above has one character");
        press(&mut input, &[Key::Up]);
        assert_eq!(input.text(), "first");
        press(&mut input, &[Key::Up, Key::Down]);
        assert_eq!(input.text(), "a\nbc", "the draft is back");
    }

    #[test]
    fn rows_break_at_the_width_and_show_the_cursor() {
        let rows = written("abc漢d").rows(4);
        assert_eq!(rows, Rows { rows: vec!["abc".into(), "漢d".into()], cursor: (1, 3) });
        assert_eq!(written("abcd").rows(4).cursor, (1, 0));
        assert_eq!(written("abcde").rows(4), Rows { rows: vec!["abcd".into(), "e".into()], cursor: (1, 1) });
        assert_eq!(written("").rows(4), Rows { rows: vec![String::new()], cursor: (0, 0) });
    }

    #[test]
    fn what_is_longer_than_the_engine_takes_is_not_written() {
        let mut input = written(&"x".repeat(BYTES_MAX + 10));
        assert_eq!(input.text().len(), BYTES_MAX);
        press(&mut input, &[Key::Home, Key::Char('y')]);
        assert_eq!(input.text().len(), BYTES_MAX);
    }
}
