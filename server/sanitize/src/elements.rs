//! The elements that HTML, mail programs and Teams use, and the layout of each.
//! It must never list an element that a host or a model gives a meaning to: a tag that is not listed stays text.

use html5ever::tokenizer::states::RawKind;

/// The effect of an element on the layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// None; its text stays in the line.
    Inline,
    /// None; it has no content.
    Void,
    /// A line of its own.
    Line,
    /// A blank line around it.
    Paragraph,
    /// Its content is dropped and counted under the word given.
    Dropped(&'static str),
    /// An effect of its own, which `body` implements.
    Special(Special),
}

/// Elements with an effect of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Special {
    Anchor,
    Attachment,
    Break,
    Cell,
    Code,
    CodeBlock,
    CustomEmoji,
    Emoji,
    Heading(&'static str),
    Image,
    Item,
    Media(&'static str),
    Mention,
    OrderedList,
    Quote,
    QuoteMarks,
    Row,
    Rule,
    Strike,
    Superscript,
    Table,
    UnorderedList,
}

use Role::{Dropped, Inline, Line, Paragraph, Special as S, Void};

/// An element with its name and effect.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Element {
    /// Its index in the table, below [`COUNT`].
    pub(super) id: usize,
    pub(super) name: &'static str,
    pub(super) role: Role,
}

const fn element(name: &'static str, role: Role) -> Element {
    Element { id: 0, name, role }
}

/// All elements, sorted by name.
static ELEMENTS: [Element; 142] = TABLE;

const TABLE: [Element; 142] = numbered([
    element("a", S(Special::Anchor)),
    element("abbr", Inline),
    element("acronym", Inline),
    element("address", Line),
    element("applet", Dropped("hidden")),
    element("area", Void),
    element("article", Line),
    element("aside", Line),
    element("at", S(Special::Mention)),
    element("attachment", S(Special::Attachment)),
    element("audio", S(Special::Media("audio"))),
    element("b", Inline),
    element("base", Void),
    element("basefont", Void),
    element("bdi", Inline),
    element("bdo", Inline),
    element("bgsound", Void),
    element("big", Inline),
    element("blink", Inline),
    element("blockquote", S(Special::Quote)),
    element("body", Line),
    element("br", S(Special::Break)),
    element("button", Inline),
    element("canvas", Dropped("hidden")),
    element("caption", Line),
    element("center", Line),
    element("cite", Inline),
    element("code", S(Special::Code)),
    element("codeblock", S(Special::CodeBlock)),
    element("col", Void),
    element("colgroup", Dropped("hidden")),
    element("customemoji", S(Special::CustomEmoji)),
    element("data", Inline),
    element("datalist", Dropped("hidden")),
    element("dd", Line),
    element("del", S(Special::Strike)),
    element("details", Line),
    element("dfn", Inline),
    element("dialog", Line),
    element("dir", S(Special::UnorderedList)),
    element("div", Line),
    element("dl", Paragraph),
    element("dt", Line),
    element("em", Inline),
    element("embed", Void),
    element("emoji", S(Special::Emoji)),
    element("fieldset", Line),
    element("figcaption", Line),
    element("figure", Paragraph),
    element("font", Inline),
    element("footer", Line),
    element("form", Line),
    element("frame", Void),
    element("frameset", Line),
    element("h1", S(Special::Heading("# "))),
    element("h2", S(Special::Heading("## "))),
    element("h3", S(Special::Heading("### "))),
    element("h4", S(Special::Heading("#### "))),
    element("h5", S(Special::Heading("##### "))),
    element("h6", S(Special::Heading("###### "))),
    element("head", Line),
    element("header", Line),
    element("hgroup", Line),
    element("hr", S(Special::Rule)),
    element("html", Line),
    element("i", Inline),
    element("iframe", Dropped("hidden")),
    element("img", S(Special::Image)),
    element("input", Void),
    element("ins", Inline),
    element("kbd", S(Special::Code)),
    element("label", Inline),
    element("legend", Line),
    element("li", S(Special::Item)),
    element("link", Void),
    element("listing", S(Special::CodeBlock)),
    element("main", Line),
    element("map", Inline),
    element("mark", Inline),
    element("marquee", Inline),
    element("math", Inline),
    element("menu", S(Special::UnorderedList)),
    element("meta", Void),
    element("meter", Dropped("hidden")),
    element("nav", Line),
    element("nobr", Inline),
    element("noembed", Dropped("hidden")),
    element("noframes", Dropped("hidden")),
    element("noscript", Inline),
    element("object", Dropped("hidden")),
    element("ol", S(Special::OrderedList)),
    element("optgroup", Line),
    element("option", Line),
    element("output", Inline),
    element("p", Paragraph),
    element("param", Void),
    element("picture", Inline),
    element("pre", S(Special::CodeBlock)),
    element("progress", Dropped("hidden")),
    element("q", S(Special::QuoteMarks)),
    element("rb", Inline),
    element("rp", Dropped("hidden")),
    element("rt", Inline),
    element("rtc", Inline),
    element("ruby", Inline),
    element("s", S(Special::Strike)),
    element("samp", S(Special::Code)),
    element("script", Dropped("script")),
    element("search", Line),
    element("section", Line),
    element("select", Line),
    element("small", Inline),
    element("source", Void),
    element("span", Inline),
    element("strike", S(Special::Strike)),
    element("strong", Inline),
    element("style", Dropped("style")),
    element("sub", Inline),
    element("summary", Line),
    element("sup", S(Special::Superscript)),
    element("svg", Dropped("svg")),
    element("systemeventmessage", Void),
    element("table", S(Special::Table)),
    element("tbody", Line),
    element("td", S(Special::Cell)),
    element("template", Dropped("template")),
    element("textarea", Line),
    element("tfoot", Line),
    element("th", S(Special::Cell)),
    element("thead", Line),
    element("time", Inline),
    element("title", Dropped("hidden")),
    element("tr", S(Special::Row)),
    element("track", Void),
    element("tt", S(Special::Code)),
    element("u", Inline),
    element("ul", S(Special::UnorderedList)),
    element("var", Inline),
    element("video", S(Special::Media("video"))),
    element("wbr", Void),
    element("xml", Dropped("hidden")),
    element("xmp", S(Special::CodeBlock)),
]);

/// Elements of Office's own namespaces (`o:p`, `v:shape`) have no layout.
static OFFICE: Element = Element { id: COUNT - 1, name: "office", role: Inline };
/// How many elements there are, Office's counted as one.
pub(super) const COUNT: usize = TABLE.len() + 1;

/// The id of an element in the table. In a constant, an unknown name is a compile error.
pub(super) const fn id(name: &str) -> usize {
    let wanted = name.as_bytes();
    let mut id = 0;
    loop {
        let candidate = TABLE[id].name.as_bytes();
        let mut same = 0;
        while same < wanted.len() && same < candidate.len() && candidate[same] == wanted[same] {
            same += 1;
        }
        if same == wanted.len() && same == candidate.len() {
            return id;
        }
        id += 1;
    }
}

const fn numbered<const N: usize>(mut elements: [Element; N]) -> [Element; N] {
    let mut id = 0;
    while id < N {
        elements[id].id = id;
        id += 1;
    }
    elements
}
/// Prefixes of Office's namespaces.
const OFFICE_PREFIXES: [&str; 8] = ["m", "o", "p", "st1", "u1", "v", "w", "x"];

/// Longest element name.
pub(super) const MAX_NAME_BYTES: usize = 24;

/// The start of each name as a number, which is faster to compare than text.
static KEYS: [u128; TABLE.len()] = {
    let mut keys = [0; TABLE.len()];
    let mut id = 0;
    while id < keys.len() {
        keys[id] = key(TABLE[id].name.as_bytes());
        id += 1;
    }
    keys
};

/// The first 16 bytes of a name, in its order.
const fn key(name: &[u8]) -> u128 {
    let mut key = 0;
    let mut at = 0;
    while at < 16 {
        key <<= 8;
        if at < name.len() {
            key |= name[at] as u128;
        }
        at += 1;
    }
    key
}

/// The element with this name, which is in lower case.
pub(super) fn known(name: &str) -> Option<&'static Element> {
    if let Ok(id) = KEYS.binary_search(&key(name.as_bytes()))
        && ELEMENTS[id].name == name
    {
        return Some(&ELEMENTS[id]);
    }
    let (prefix, local) = name.split_once(':')?;
    let office = OFFICE_PREFIXES.contains(&prefix)
        && !local.is_empty()
        && local.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    office.then_some(&OFFICE)
}

impl Element {
    /// How the tokenizer must read the content, if not as markup.
    pub(super) fn raw(&self) -> Option<RawKind> {
        match self.name {
            "script" => Some(RawKind::ScriptData),
            "style" | "iframe" | "noembed" | "noframes" | "xmp" => Some(RawKind::Rawtext),
            "title" | "textarea" => Some(RawKind::Rcdata),
            _ => None,
        }
    }

    /// The factor by which it changes the size of its text by default.
    pub(super) fn text_factor(&self) -> Option<f32> {
        match self.name {
            "small" | "sub" | "sup" => Some(0.83),
            "big" => Some(1.2),
            _ => None,
        }
    }

    /// Whether it has no content.
    pub(super) fn is_void(&self) -> bool {
        use Special::{Attachment, Break, CustomEmoji, Emoji, Image, Rule};
        matches!(self.role, Void | S(Attachment | Break | CustomEmoji | Emoji | Image | Rule))
    }

    /// Whether the end tag of an inline element can't close anything outside it. A start of it ends an open paragraph.
    pub(super) fn is_block(&self) -> bool {
        use Special::{Cell, CodeBlock, Heading, Item, OrderedList, Quote, Row, Rule, Table, UnorderedList};
        matches!(
            self.role,
            Line | Paragraph
                | S(Cell
                    | CodeBlock
                    | Heading(_)
                    | Item
                    | OrderedList
                    | Quote
                    | Row
                    | Rule
                    | Table
                    | UnorderedList)
        )
    }

    /// Whether its end tag also closes the cells and tables that are open in it.
    pub(super) fn is_table_part(&self) -> bool {
        matches!(self.role, S(Special::Table | Special::Row | Special::Cell))
            || matches!(self.name, "tbody" | "thead" | "tfoot")
    }

    /// Whether only the end tags of table parts can close anything outside it.
    pub(super) fn is_table_scope(&self) -> bool {
        matches!(self.role, S(Special::Cell | Special::Table)) || self.name == "caption"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_short() {
        assert!(ELEMENTS.is_sorted_by_key(|element| element.name));
        assert!(KEYS.is_sorted_by(|one, next| one < next));
        assert!(
            ELEMENTS
                .iter()
                .all(|element| known(element.name) == Some(element) && id(element.name) == element.id)
        );
        assert!(ELEMENTS.iter().all(|element| element.name.len() <= MAX_NAME_BYTES));
    }

    #[test]
    fn office_names_are_known_and_addresses_are_not() {
        assert!(known("o:p").is_some());
        for name in
            ["std::vector", "mailto:bob@contoso.com", "https:", "bob@contoso.com", "channel", "system"]
        {
            assert!(known(name).is_none(), "{name}");
        }
    }
}
