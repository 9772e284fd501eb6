//! The only way for text to enter the page. It escapes the text and shows hidden characters as code points.
//! Markup must never be built from text in any other way.

use std::fmt::{self, Display};

use askama::filters::HtmlSafe;

use crate::diff::{Line, Piece, Side};
use crate::text::{Cut, bytes, code_point, cut, is_hidden};

/// The pages of facts, as seen from the folder into which a run in the checkout writes its page.
const FACTS: &str = "../docs/src/facts/";
const SPECIFICATION: &str = "https://modelcontextprotocol.io/specification/";

/// Finished HTML, which a template inserts unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Markup(String);

impl Display for Markup {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl HtmlSafe for Markup {}

impl Markup {
    /// A text on one line: line feeds and tabs become visible symbols.
    pub(crate) fn line(text: &str) -> Self {
        Self::text(&text.replace('\n', "⏎").replace('\t', "⇥"))
    }

    /// As [`Markup::line`], cut to `bytes_max` with a note.
    pub(crate) fn short(text: &str, bytes_max: usize) -> Self {
        let Cut { head, left_out_bytes } = cut(text, bytes_max);
        let mut line = Self::line(head);
        line.note_left_out(left_out_bytes);
        line
    }

    /// A source on one line. Of its references, with `; ` between them, addresses, pages of the specification and
    /// headings of the book's pages of facts become links.
    pub(crate) fn source(text: &str, bytes_max: usize) -> Self {
        if text.len() > bytes_max {
            return Self::short(text, bytes_max);
        }
        let mut source = Self::default();
        for (number, reference) in text.split("; ").enumerate() {
            if number > 0 {
                source.push_html("; ");
            }
            let words = [": ", " ("].into_iter().filter_map(|start| reference.find(start)).min();
            let (place, words) = reference.split_at(words.unwrap_or(reference.len()));
            if let Some(target) = target(place) {
                source.push_html("<a href=\"");
                source.push_text(&target);
                source.push_html("\">");
                source.push_text(place);
                source.push_html("</a>");
            } else {
                source.push(&Self::line(place));
            }
            source.push(&Self::line(words));
        }
        source
    }

    /// A text with its line feeds, for an element that preserves them.
    pub(crate) fn text(text: &str) -> Self {
        let mut markup = Self::default();
        markup.push_text(text);
        markup
    }

    /// Adds text from an event.
    pub(crate) fn push_text(&mut self, text: &str) {
        for character in text.chars() {
            match character {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&#34;"),
                '\'' => self.0.push_str("&#39;"),
                hidden if is_hidden(hidden) => {
                    self.0.push_str("<b class=u>");
                    self.0.push_str(&code_point(hidden));
                    self.0.push_str("</b>");
                }
                plain => self.0.push(plain),
            }
        }
    }

    /// Adds text for an element, in which quotes need no escape. This saves a tenth of a transcript.
    pub(crate) fn push_json(&mut self, text: &str) {
        for part in text.split_inclusive(['"', '\'']) {
            let (body, quote) = match part.char_indices().next_back() {
                Some((at, quote @ ('"' | '\''))) => (&part[..at], Some(quote)),
                _ => (part, None),
            };
            self.push_text(body);
            self.0.extend(quote);
        }
    }

    /// Adds HTML from this crate's source, never data.
    pub(crate) fn push_html(&mut self, html: &str) {
        self.0.push_str(html);
    }

    pub(crate) fn push(&mut self, other: &Self) {
        self.0.push_str(&other.0);
    }

    /// Adds a note on left-out bytes, if there are any.
    pub(crate) fn note_left_out(&mut self, left_out_bytes: usize) {
        if left_out_bytes > 0 {
            self.0.push_str("<i class=lo>… ");
            self.0.push_str(&bytes(left_out_bytes));
            self.0.push_str(" left out</i>");
        }
    }

    /// The length of the HTML in bytes.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// Where a reference leads, if it is an address, a heading of a page of facts, or a version and a page of the
/// specification (`2025-11-25 basic/lifecycle#initialization`).
fn target(place: &str) -> Option<String> {
    let is_path =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_/#".contains(&byte));
    if place.starts_with("https://") {
        place.bytes().all(|byte| byte.is_ascii_graphic()).then(|| place.to_owned())
    } else if let Some(place) = place.strip_prefix("facts/") {
        let (page, heading) = place.split_once('#')?;
        (is_path(page) && is_path(heading)).then(|| format!("{FACTS}{page}.md#{heading}"))
    } else {
        let (version, page) = place.split_once(' ')?;
        let is_date =
            version.len() == 10 && version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        // The site shows the file `basic/index` as the page `basic`.
        let page = page.replacen("/index", "", 1);
        (is_date && is_path(&page)).then(|| format!("{SPECIFICATION}{version}/{page}"))
    }
}

/// Pieces of a text, with the changed ones marked.
pub(crate) fn pieces(pieces: &[Piece]) -> Markup {
    let mut markup = Markup::default();
    for piece in pieces {
        if piece.changed {
            markup.push_html("<mark>");
        }
        markup.push_json(&piece.text);
        if piece.changed {
            markup.push_html("</mark>");
        }
    }
    markup
}

/// A difference, with its first diverging line marked.
pub(crate) fn diff(lines: &[Line]) -> Markup {
    let mut markup = Markup::default();
    let mut diverged = false;
    for line in lines {
        let first = !diverged && matches!(line.side, Side::Expected | Side::Observed);
        diverged |= first;
        let (open, close) = match (line.side, first) {
            (Side::Expected, true) => ("<del class=first>", "</del>"),
            (Side::Expected, false) => ("<del>", "</del>"),
            (Side::Observed, true) => ("<ins class=first>", "</ins>"),
            (Side::Observed, false) => ("<ins>", "</ins>"),
            (Side::Both, _) => ("<span>", "</span>"),
            (Side::LeftOut, _) => ("<i class=lo>", "</i>"),
        };
        markup.push_html(open);
        markup.push_text(&format!("{} ", line.side.sign()));
        // A line that changed as a whole needs no marked words.
        let whole = line.pieces.iter().all(|piece| piece.changed);
        if whole {
            markup.push_json(&line.text());
        } else {
            markup.push(&pieces(&line.pieces));
        }
        markup.push_html(close);
    }
    markup
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_outside_stays_markup() {
        let hostile = "</script><script>\"'&\u{202E}\u{1b}[0m";
        let shown = Markup::text(hostile).to_string();
        assert_eq!(
            shown,
            "&lt;/script&gt;&lt;script&gt;&#34;&#39;&amp;<b class=u>⟨U+202E⟩</b><b class=u>⟨U+001B⟩</b>[0m"
        );
    }

    #[test]
    fn a_source_links_addresses_and_facts() {
        let shown = |text| Markup::source(text, 200).to_string();
        assert_eq!(
            shown("facts/graph#throttling: 429; https://contoso.com/?a&b (why); DESIGN: What?"),
            "<a href=\"../docs/src/facts/graph.md#throttling\">facts/graph#throttling</a>: 429; \
             <a href=\"https://contoso.com/?a&amp;b\">https://contoso.com/?a&amp;b</a> (why); DESIGN: What?"
        );
        assert_eq!(
            shown("2025-11-25 basic/index#messages; practice: 2025-11-25 servers"),
            "<a href=\"https://modelcontextprotocol.io/specification/2025-11-25/basic#messages\">2025-11-25 \
             basic/index#messages</a>; practice: 2025-11-25 servers"
        );
        for text in
            ["javascript:alert", "http://contoso.com", "facts/../a#b", "facts/graph", "https://\u{202E}"]
        {
            assert!(!shown(text).contains("<a"), "{text}");
        }
        assert!(!shown("https://contoso.com/\"><script>").contains("<script"));
        assert!(!shown(&format!("https://contoso.com/{}", "a".repeat(200))).contains("<a"));
    }

    #[test]
    fn json_keeps_its_quotes_and_nothing_else() {
        let mut shown = Markup::default();
        shown.push_json("{\"a\":'<b>'}\"");
        assert_eq!(shown.to_string(), "{\"a\":'&lt;b&gt;'}\"");
    }

    #[test]
    fn the_first_divergence_is_marked_once() {
        let shown = diff(&crate::diff::lines("a\nb\n", "a\nc\n")).to_string();
        assert_eq!(shown.matches("class=first").count(), 1, "{shown}");
    }
}
