//! Inputs for tests and benchmarks, on which a careless sanitiser takes more than linear time.
//! They must never be taken from real messages.

/// A pattern of input that can be made in any size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Its name in a table.
    pub(crate) name: &'static str,
    start: &'static str,
    unit: &'static str,
    end: &'static str,
}

const fn repeated(name: &'static str, unit: &'static str) -> Shape {
    framed(name, "", unit, "")
}

const fn framed(name: &'static str, start: &'static str, unit: &'static str, end: &'static str) -> Shape {
    Shape { name, start, unit, end }
}

/// All shapes, in the order of a table.
pub(crate) const SHAPES: [Shape; 39] = [
    repeated("open image tags", "<img "),
    framed("open image tags, one end", "", "<img ", ">"),
    repeated("open tags of no name", "<q1 "),
    framed("open tags of no name, one end", "", "<q1 ", ">"),
    framed("open tags of no name, quotes", "", "<q a=\"<q b='", ">"),
    repeated("unclosed links", "<a href=\"x\">"),
    repeated("unclosed links with text", "<a href=\"https://x.example/\">t"),
    repeated("links that name hosts", "<a href=\"https://x.example/\">contoso.com</a> "),
    framed("one link that names hosts", "<a href=\"https://x.example/\">", "a.bc ", "</a>"),
    repeated("angle brackets", "<"),
    repeated("nested div", "<div>"),
    framed("nested div, closed spans", "<span>", "<div>", "</span></span></span>"),
    repeated("nested quotes", "<blockquote>x"),
    repeated("nested lists", "<ul><li>x"),
    repeated("nested tables", "<table><tr><td>x"),
    repeated("formatting, wrong end tags", "<b>x</i>"),
    framed("formatting under a div", "<i><div>", "<b>x</i>", ""),
    repeated("combining marks", "\u{301}"),
    repeated("combining marks, two classes", "\u{301}\u{323}"),
    repeated("unclosed quotes", "<a b=\""),
    framed("unclosed quotes, one end", "", "<a b=\"<a c='", ">"),
    framed("many attributes", "<a", " a b='<a' c", ">"),
    repeated("ampersands", "&"),
    repeated("entities without end", "&amp"),
    framed("one long entity", "&", "a", ""),
    repeated("numeric references", "&#x1F600;"),
    repeated("unclosed comments", "<!--"),
    repeated("bogus comments", "<?x"),
    repeated("open scripts", "<script>"),
    framed("script with end tags of others", "<script>", "</scrip", ""),
    repeated("CDATA", "<![CDATA["),
    repeated("hidden spans", "<span style=\"display:none\">x</span>"),
    repeated("terminal strings", "\u{1b}]0;x"),
    repeated("flags", "\u{1f1e9}"),
    repeated("emoji chain", "\u{1f468}\u{200d}"),
    repeated("tag characters", "\u{e0041}"),
    repeated("brackets", "[x]("),
    repeated("table cells", "<td>"),
    repeated("words", "<p>A word, <b>another</b> &amp; <i>more</i>.</p>\n"),
];

impl Shape {
    /// The shape in at most about so many bytes.
    pub(crate) fn text(&self, bytes: usize) -> String {
        let frame = self.start.len() + self.end.len();
        let units = bytes.saturating_sub(frame) / self.unit.len();
        format!("{}{}{}", self.start, self.unit.repeat(units), self.end)
    }
}
