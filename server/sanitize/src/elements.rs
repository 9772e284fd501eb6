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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Element {
    /// Its index in the table, below [`COUNT`].
    pub(super) id: usize,
    pub(super) name: &'static str,
    pub(super) role: Role,
}

/// All elements by their effect.
const GROUPS: &[(Role, &[&str])] = &[
    (
        Inline,
        &[
            "abbr", "acronym", "b", "bdi", "bdo", "big", "blink", "button", "cite", "data", "dfn", "em",
            "font", "i", "ins", "label", "map", "mark", "marquee", "math", "nobr", "noscript", "output",
            "picture", "rb", "rt", "rtc", "ruby", "small", "span", "strong", "sub", "time", "u", "var",
        ],
    ),
    (
        Void,
        &[
            "area", "base", "basefont", "bgsound", "col", "embed", "frame", "input", "link", "meta", "param",
            "source", "track", "wbr",
        ],
    ),
    (Void, &["systemeventmessage"]),
    (
        Line,
        &[
            "address", "article", "aside", "body", "caption", "center", "dd", "details", "dialog", "div",
            "dt", "fieldset", "footer", "form", "frameset", "head", "header", "hgroup", "html", "legend",
            "main", "nav", "optgroup", "option", "search", "section", "select", "summary", "tbody",
            "textarea", "tfoot", "thead",
        ],
    ),
    (Line, &["figcaption"]),
    (Paragraph, &["dl", "figure", "p"]),
    (
        Dropped("hidden"),
        &[
            "applet", "canvas", "colgroup", "datalist", "iframe", "meter", "noembed", "noframes", "object",
            "progress", "rp", "title", "xml",
        ],
    ),
    (Dropped("script"), &["script"]),
    (Dropped("style"), &["style"]),
    (Dropped("svg"), &["svg"]),
    (Dropped("template"), &["template"]),
    (S(Special::Anchor), &["a"]),
    (S(Special::Mention), &["at"]),
    (S(Special::Attachment), &["attachment"]),
    (S(Special::Media("audio")), &["audio"]),
    (S(Special::Quote), &["blockquote"]),
    (S(Special::Break), &["br"]),
    (S(Special::Code), &["code", "kbd", "samp", "tt"]),
    (S(Special::CodeBlock), &["codeblock", "listing", "pre", "xmp"]),
    (S(Special::CustomEmoji), &["customemoji"]),
    (S(Special::Strike), &["del", "s", "strike"]),
    (S(Special::UnorderedList), &["dir", "menu", "ul"]),
    (S(Special::Emoji), &["emoji"]),
    (S(Special::Heading("# ")), &["h1"]),
    (S(Special::Heading("## ")), &["h2"]),
    (S(Special::Heading("### ")), &["h3"]),
    (S(Special::Heading("#### ")), &["h4"]),
    (S(Special::Heading("##### ")), &["h5"]),
    (S(Special::Heading("###### ")), &["h6"]),
    (S(Special::Rule), &["hr"]),
    (S(Special::Image), &["img"]),
    (S(Special::Item), &["li"]),
    (S(Special::OrderedList), &["ol"]),
    (S(Special::QuoteMarks), &["q"]),
    (S(Special::Superscript), &["sup"]),
    (S(Special::Table), &["table"]),
    (S(Special::Cell), &["td", "th"]),
    (S(Special::Row), &["tr"]),
    (S(Special::Media("video")), &["video"]),
];

/// All elements, sorted by name.
static ELEMENTS: [Element; 142] = TABLE;

const TABLE: [Element; 142] = {
    let mut table = [Element { id: 0, name: "", role: Inline }; 142];
    let (mut count, mut group) = (0, 0);
    while group < GROUPS.len() {
        let (role, names) = GROUPS[group];
        let mut at = 0;
        while at < names.len() {
            table[count] = Element { id: 0, name: names[at], role };
            let mut place = count;
            while place > 0 && key(table[place - 1].name) > key(table[place].name) {
                table.swap(place - 1, place);
                place -= 1;
            }
            (count, at) = (count + 1, at + 1);
        }
        group += 1;
    }
    while count > 0 {
        count -= 1;
        table[count].id = count;
    }
    table
};

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

/// Prefixes of Office's namespaces.
const OFFICE_PREFIXES: [&str; 8] = ["m", "o", "p", "st1", "u1", "v", "w", "x"];

/// Longest element name.
pub(super) const MAX_NAME_BYTES: usize = 24;

/// The start of each name as a number, which is faster to compare than text.
static KEYS: [u128; TABLE.len()] = {
    let mut keys = [0; TABLE.len()];
    let mut id = 0;
    while id < keys.len() {
        keys[id] = key(TABLE[id].name);
        id += 1;
    }
    keys
};

/// The first 16 bytes of a name, in its order.
const fn key(name: &str) -> u128 {
    let name = name.as_bytes();
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
    if let Ok(id) = KEYS.binary_search(&key(name))
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
    use rstest::rstest;

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

    #[rstest]
    #[case("table", true, true, true)]
    #[case("tr", true, false, true)]
    #[case("td", true, true, true)]
    #[case("th", true, true, true)]
    #[case("tbody", true, false, true)]
    #[case("thead", true, false, true)]
    #[case("tfoot", true, false, true)]
    #[case("caption", false, true, true)]
    #[case("figcaption", false, false, true)]
    #[case("div", false, false, true)]
    #[case("p", false, false, true)]
    #[case("li", false, false, true)]
    #[case("b", false, false, false)]
    #[case("a", false, false, false)]
    fn the_end_of_an_element_reaches_as_far_as_the_standard_says(
        #[case] name: &str,
        #[case] is_table_part: bool,
        #[case] is_table_scope: bool,
        #[case] is_block: bool,
    ) {
        let element = known(name).unwrap();
        assert_eq!(
            (element.is_table_part(), element.is_table_scope(), element.is_block()),
            (is_table_part, is_table_scope, is_block)
        );
    }

    #[test]
    fn office_names_are_known_and_addresses_are_not() {
        assert!(known("o:p").is_some());
        for name in [
            "std::vector",
            "ab:c",
            "o:",
            "o:a.b",
            "mailto:bob@contoso.com",
            "https:",
            "bob@contoso.com",
            "channel",
            "system",
        ] {
            assert!(known(name).is_none(), "{name}");
        }
    }
}
