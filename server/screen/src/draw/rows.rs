//! The lines of an entry of the conversation.
//!
//! A label stands at the first column and nothing else does, so that no text can pass for one.

use std::ops::Range;

use super::Line;
use crate::glyph;
use crate::talk::{Block, Entry};
use crate::theme::Part;
use crate::wrap;

/// The columns before a text.
const INDENT: &str = "  ";

/// What is needed beside the entry.
pub(super) struct Look {
    pub(super) label: Option<(String, Part)>,
    pub(super) width: usize,
    /// What is said at the end of an entry that grows.
    pub(super) hint: Option<&'static str>,
}

/// Takes the lines in a range and counts all.
struct Taker {
    range: Range<usize>,
    count: usize,
    lines: Vec<Line>,
}

impl Taker {
    fn take(&mut self, line: impl FnOnce() -> Line) {
        if self.range.contains(&self.count) {
            self.lines.push(line());
        }
        self.count += 1;
    }
}

/// How many lines an entry has.
pub(super) fn count(entry: &mut Entry, look: &Look) -> usize {
    if let Some((width, count)) = entry.drawn
        && width == look.width
        && !entry.is_live
    {
        return count;
    }
    let count = take(entry, look, 0..0).count;
    entry.drawn = Some((look.width, count));
    count
}

/// The lines of an entry in a range.
pub(super) fn lines(entry: &mut Entry, look: &Look, range: Range<usize>) -> Vec<Line> {
    take(entry, look, range).lines
}

fn take(entry: &mut Entry, look: &Look, range: Range<usize>) -> Taker {
    let mut taker = Taker { range, count: 0, lines: Vec::new() };
    let width = look.width.saturating_sub(INDENT.len()).max(1);
    let part = if entry.who.is_some() { Part::Text } else { Part::Aside };
    if let Some(label) = &look.label {
        if let Some(text) = beside(entry, &label.0, look.width) {
            taker.take(|| vec![label.clone(), (format!(" {text}"), Part::Text)]);
            return taker;
        }
        taker.take(|| vec![label.clone()]);
    }
    let indented = |text: &str, part: Part| vec![(INDENT.to_owned(), part), (text.to_owned(), part)];
    for block in &mut entry.blocks {
        match block {
            Block::Text(text) => {
                let lines = text.lines(width);
                let from = taker.range.start.saturating_sub(taker.count).min(lines.len());
                let to = taker.range.end.saturating_sub(taker.count).clamp(from, lines.len());
                taker.lines.extend(lines[from..to].iter().map(|line| indented(line, part)));
                taker.count += lines.len();
            }
            Block::Tool(tool) => taker.take(|| indented(&bracketed(&tool.says, width), Part::Tool)),
            Block::Mark(says) => {
                for line in wrap::lines(&format!("-- {says}"), width) {
                    taker.take(|| indented(&line, Part::Aside));
                }
            }
        }
    }
    if let Some(hint) = look.hint {
        taker.take(|| indented(hint, Part::Aside));
    }
    taker
}

/// The text of a message that fits beside its label.
fn beside<'a>(entry: &'a Entry, label: &str, width: usize) -> Option<&'a str> {
    let [Block::Text(text)] = entry.blocks.as_slice() else { return None };
    let text = text.as_str();
    let is_short = text.len() <= width * 4 && !text.contains('\n');
    let fits = is_short && glyph::columns(label) + 1 + glyph::columns(text) <= width;
    (fits && !entry.is_live).then_some(text)
}

/// A tool call in a line that is no wider than this.
fn bracketed(says: &str, width: usize) -> String {
    if glyph::columns(says) + 2 <= width {
        return format!("[{says}]");
    }
    format!("[{}]", cut(says, width.saturating_sub(2)))
}

/// The start of a text that fits, with a mark that it was cut.
pub(super) fn cut(text: &str, width: usize) -> String {
    if glyph::columns(text) <= width {
        return text.to_owned();
    }
    let first = wrap::hard(text, width.saturating_sub(1));
    if width == 0 { String::new() } else { format!("{first}…") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::news::{Said, Who};
    use crate::talk::Talk;

    fn drawn(text: &str, width: usize) -> Vec<String> {
        let said = Said { who: Who::You, text: text.to_owned(), task: String::new(), tools: Vec::new() };
        let entry = &mut Talk::of(&[said]).entries[0];
        let look = Look { label: Some(("you:".to_owned(), Part::Aside)), width, hint: None };
        let lines = lines(entry, &look, 0..usize::MAX);
        lines.iter().map(|line| line.iter().map(|(text, _)| text.as_str()).collect()).collect()
    }

    #[test]
    fn a_text_that_fits_stands_beside_its_label() {
        let fits = [
            ("0123456789".to_owned(), 15, true),
            ("01234567890".to_owned(), 15, false),
            ("é".repeat(35), 40, true),
            // The most bytes that a column takes.
            ("\u{1d400}".repeat(35), 40, true),
            ("\u{4f60}".repeat(5), 15, true),
            ("\u{4f60}".repeat(5), 14, false),
            ("a\nb".to_owned(), 40, false),
        ];
        for (text, width, is_beside) in fits {
            let lines = drawn(&text, width);
            if is_beside {
                assert_eq!(lines, [format!("you: {text}")]);
            } else {
                assert_eq!(lines[0], "you:");
                let rest = &lines[1..];
                assert!(!rest.is_empty() && rest.iter().all(|line| line.starts_with(INDENT)), "{lines:?}");
            }
        }
    }

    #[test]
    fn a_tool_call_is_no_wider_than_its_line() {
        for (says, width, shown) in
            [("ab", 4, "[ab]"), ("abc", 4, "[a…]"), ("abc", 3, "[…]"), ("abc", 2, "[]")]
        {
            assert_eq!(bracketed(says, width), shown);
        }
    }
}
