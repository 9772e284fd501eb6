//! The page that a document is written on: lines, the marks of quotes and lists before them, blanks between words.
//! It must never join words that were apart, and never interpret the text.

use super::link;
use super::tally::Tally;

/// Most nested quotes and list items that get a mark.
const MAX_NESTED_MARKS: usize = 6;
/// Most blanks that no-break spaces at the start of a line become.
const MAX_INDENT: usize = 16;
/// Most empty cells before a filled one that are drawn.
const MAX_EMPTY_CELLS: usize = 32;
/// Most blank lines in a row.
const MAX_BLANK_LINES: usize = 2;

/// A prefix of every line of a block.
enum Mark {
    Quote,
    /// A list item. Its sign is written once; later lines have as many blanks instead.
    Item {
        sign: Option<String>,
        width: usize,
    },
}

/// Inline text between two signs.
struct Span {
    open: &'static str,
    close: &'static str,
    /// Where it starts in the output, once it has text.
    from: Option<usize>,
}

/// A link that is being written.
struct Anchor {
    href: String,
    from: Option<usize>,
    shown: bool,
}

/// Lines of text. Newlines, blanks and cell bars are written only when the next text comes, so that none are left over.
#[derive(Default)]
pub(super) struct Page {
    out: String,
    /// Lines begun so far.
    lines: u64,
    /// Newlines to write before the next text, 0 to 2; with at least one the line is over.
    newlines: usize,
    /// Cell bars to write before the next text.
    bars: usize,
    blank: bool,
    indent: usize,
    /// A heading's sign, written when its line begins.
    lead: Option<&'static str>,
    marks: Vec<Mark>,
    /// The marks that a next line of the same block gets, and the number of marks of the current line.
    last_marks: String,
    /// A buffer for the next line's marks.
    next_marks: String,
    last_depth: usize,
    spans: Vec<Span>,
    anchor: Option<Anchor>,
}

impl Page {
    /// The number of bytes written so far.
    pub(super) fn len(&self) -> usize {
        self.out.len()
    }

    pub(crate) fn finish(mut self, tally: &mut Tally) -> String {
        self.close_link(tally);
        self.end_spans();
        self.out
    }

    /// Writes running text: blanks collapse, no-break spaces indent at the start of a line.
    pub(crate) fn text(&mut self, text: &str, tally: &mut Tally) {
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            match c {
                ' ' | '\t' | '\n' | '\r' | '\u{c}' => self.blank = !self.at_line_start(),
                '\u{b}' | '\u{85}' | '\u{2028}' | '\u{2029}' => self.hard_break(),
                c if is_wide_blank(c) => {
                    if self.at_line_start() {
                        self.indent = (self.indent + 1).min(MAX_INDENT);
                    } else {
                        self.blank = true;
                    }
                }
                _ => {
                    let end = rest.find(is_blank).unwrap_or(rest.len());
                    self.begin(tally);
                    self.out.push_str(&rest[..end]);
                    rest = &rest[end..];
                    continue;
                }
            }
            rest = &rest[c.len_utf8()..];
        }
    }

    /// Writes a text unchanged, on one line.
    pub(super) fn word(&mut self, word: &str, tally: &mut Tally) {
        if !word.is_empty() {
            self.begin(tally);
            self.out.push_str(word);
        }
    }

    /// Writes a note of our own between two blanks.
    pub(super) fn note(&mut self, note: &str, tally: &mut Tally) {
        self.blank = !self.at_line_start();
        self.word(note, tally);
        self.blank = true;
    }

    fn at_line_start(&self) -> bool {
        self.newlines > 0 || self.lines == 0
    }

    /// Writes the outstanding newlines, bars and blanks before a text.
    fn begin(&mut self, tally: &mut Tally) {
        if self.bars > 0 && self.lines > 0 && self.marks.len() != self.last_depth {
            // A list or a quote in a cell starts a new line.
            self.bars = 0;
            self.newlines = self.newlines.max(1);
        }
        if self.at_line_start() {
            // Links and spans end with their line; they go on in the next one.
            self.end_spans();
            self.show_link(tally);
            self.new_line();
            let bars = std::mem::take(&mut self.bars).min(MAX_EMPTY_CELLS);
            self.out.push_str(&"| ".repeat(bars));
            self.out.push_str(&" ".repeat(self.indent));
            self.out.push_str(self.lead.take().unwrap_or_default());
        } else if self.bars > 0 {
            let bars = std::mem::take(&mut self.bars).min(MAX_EMPTY_CELLS);
            self.out.push_str(&" |".repeat(bars));
            self.out.push(' ');
        } else if self.blank {
            self.out.push(' ');
        }
        self.blank = false;
        self.indent = 0;
        let at = self.out.len();
        for span in &mut self.spans {
            span.from.get_or_insert(at);
        }
        if let Some(anchor) = &mut self.anchor {
            anchor.from.get_or_insert(at);
        }
    }

    fn new_line(&mut self) {
        let mut repeated = std::mem::take(&mut self.next_marks);
        repeated.clear();
        for mark in &self.marks {
            match mark {
                Mark::Quote => repeated.push_str("│ "),
                Mark::Item { width, .. } => repeated.extend(std::iter::repeat_n(' ', *width)),
            }
        }
        if self.lines > 0 {
            self.out.push('\n');
            if self.newlines > 1 {
                let common = self.last_marks.chars().zip(repeated.chars()).take_while(|(a, b)| a == b);
                self.out.extend(common.map(|(c, _)| c));
                self.out.push('\n');
            }
        }
        for mark in &mut self.marks {
            match mark {
                Mark::Quote => self.out.push_str("│ "),
                Mark::Item { sign, width } => match sign.take() {
                    Some(sign) => self.out.push_str(&sign),
                    None => self.out.extend(std::iter::repeat_n(' ', *width)),
                },
            }
        }
        self.next_marks = std::mem::replace(&mut self.last_marks, repeated);
        self.last_depth = self.marks.len();
        self.lines += 1;
        self.newlines = 0;
    }

    /// Asks for at least so many newlines before the next text.
    pub(super) fn block_break(&mut self, newlines: usize) {
        if self.bars > 0 {
            return;
        }
        if self.indent > 0 {
            // Editors write a blank line as a line of no-break spaces.
            self.hard_break();
        }
        self.newlines = self.newlines.max(newlines);
        self.blank = false;
    }

    /// Ends the line where the document says so.
    pub(super) fn hard_break(&mut self) {
        if self.bars == 0 {
            self.newlines = (self.newlines + 1).min(2);
        }
        self.blank = false;
        self.indent = 0;
    }

    /// Begins a table row and returns the number of lines before it.
    pub(super) fn row(&mut self) -> u64 {
        self.bars = 0;
        self.block_break(1);
        self.lines
    }

    /// Begins a cell that is not the first of its row.
    pub(super) fn next_cell(&mut self, lines_before_row: u64) {
        self.indent = 0;
        if self.lines == lines_before_row {
            self.bars += 1;
        } else if self.last_depth == self.marks.len() {
            self.bars += 1;
            self.newlines = 0;
        } else {
            self.block_break(1);
        }
    }

    /// Ends a table; bars of empty last cells are dropped.
    pub(super) fn end_table(&mut self) {
        self.bars = 0;
        self.block_break(2);
    }

    /// Begins a heading's line with its sign; none takes it back if no text came.
    pub(super) fn heading(&mut self, sign: Option<&'static str>) {
        self.lead = sign;
    }

    /// Begins a quote. Returns false if it is too deep for a mark; then its end must not remove one.
    pub(super) fn open_quote(&mut self) -> bool {
        self.open_mark(Mark::Quote)
    }

    /// Begins a list item with its sign, which ends with a blank. Returns false if it is too deep for a mark.
    pub(super) fn open_item(&mut self, sign: String) -> bool {
        let width = sign.chars().count();
        self.open_mark(Mark::Item { sign: Some(sign), width })
    }

    fn open_mark(&mut self, mark: Mark) -> bool {
        let fits = self.marks.len() < MAX_NESTED_MARKS;
        if fits {
            self.marks.push(mark);
        }
        fits
    }

    pub(super) fn close_mark(&mut self) {
        self.marks.pop();
    }

    /// Writes lines unchanged, inside the current block.
    pub(super) fn verbatim(&mut self, text: &str, tally: &mut Tally) {
        for (number, line) in text.split('\n').enumerate() {
            if number == 0 {
                self.begin(tally);
            } else {
                self.out.push('\n');
                self.out.push_str(&self.last_marks);
            }
            self.out.push_str(line);
        }
        // A sign or an address after these lines would become part of the last one.
        for span in &mut self.spans {
            span.from = None;
        }
        if let Some(anchor) = &mut self.anchor {
            anchor.from = None;
        }
    }

    /// Begins a link. Only one can be open, so it ends an earlier one.
    pub(super) fn open_link(&mut self, href: &str, tally: &mut Tally) {
        self.close_link(tally);
        self.anchor = Some(Anchor { href: href.to_owned(), from: None, shown: false });
    }

    pub(super) fn close_link(&mut self, tally: &mut Tally) {
        self.show_link(tally);
        self.anchor = None;
    }

    /// Writes the address after the text that the open link has on this line.
    fn show_link(&mut self, tally: &mut Tally) {
        let Some(anchor) = &mut self.anchor else { return };
        let Some(from) = anchor.from.take() else { return };
        if let Some(shown) = link::show(&self.out[from..], &anchor.href, anchor.shown, tally) {
            self.out.truncate(from);
            self.out.push_str(&shown);
            anchor.shown = true;
            for span in &mut self.spans {
                span.from = span.from.filter(|&at| at <= from);
            }
        }
    }

    /// Begins text between two signs. Returns false if it is too deep.
    pub(super) fn open_span(&mut self, open: &'static str, close: &'static str) -> bool {
        let fits = self.spans.len() < MAX_NESTED_MARKS;
        if fits {
            self.spans.push(Span { open, close, from: None });
        }
        fits
    }

    pub(super) fn close_span(&mut self) {
        if let Some(span) = self.spans.pop() {
            self.sign(&span);
        }
    }

    fn end_spans(&mut self) {
        let mut spans = std::mem::take(&mut self.spans);
        for span in spans.iter_mut().rev() {
            self.sign(span);
            span.from = None;
        }
        self.spans = spans;
    }

    fn sign(&mut self, span: &Span) {
        let Some(from) = span.from else { return };
        // A backtick inside code would end it.
        if self.out[from..].contains(span.open) {
            return;
        }
        self.out.insert_str(from, span.open);
        self.out.push_str(span.close);
        if let Some(at) = self.anchor.as_mut().and_then(|anchor| anchor.from.as_mut())
            && *at > from
        {
            *at += span.open.len();
        }
    }
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
        || is_wide_blank(c)
}

fn is_wide_blank(c: char) -> bool {
    matches!(c, '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
}

/// The last layout step, for all inputs: it removes blanks at line ends, extra blank lines, and blank lines at either
/// end.
pub(super) fn tidy(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut blank_lines = 0;
    for line in text.split('\n').map(|line| line.trim_end_matches([' ', '\t'])) {
        if line.is_empty() {
            blank_lines += 1;
            continue;
        }
        if !out.is_empty() {
            out.push_str(&"\n".repeat(blank_lines.min(MAX_BLANK_LINES) + 1));
        }
        blank_lines = 0;
        out.push_str(line);
    }
    out
}
