//! The one list of what HTML may leave: elements, attributes with the kind of their value, properties of styles,
//! schemes of links, fields of `mailto:`.
//! What is not on it is not sent, so nothing may be added that a reader's client fetches, runs or opens by itself.

/// Elements of Teams' dialect and of plain mail that need nothing beside the text, with blanks between.
const ELEMENTS: &[&str] = &[
    "a b br code codeblock del em i s span strike strong sub sup u",
    "blockquote div h1 h2 h3 h4 h5 h6 hr li ol p pre ul",
    "table tbody td th thead tr",
];

/// What an attribute's value is, and so what it may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Where a link leads.
    Address,
    /// A colour by name or in hexadecimal digits.
    Colour,
    /// A number, or a share in percent.
    Measure,
    /// Declarations of CSS.
    Style,
    /// What a person reads.
    Text,
    /// Words of letters, digits and a few signs, none of which an address could be made of.
    Words,
}

/// Attributes that every listed element may have.
pub(super) const ATTRIBUTES: &[(&str, Kind)] = &[
    ("aria-label", Kind::Text),
    ("class", Kind::Words),
    ("dir", Kind::Words),
    ("lang", Kind::Words),
    ("style", Kind::Style),
    ("title", Kind::Text),
];

/// Attributes that single elements may have as well.
pub(super) const ATTRIBUTES_OF: &[(&str, &[(&str, Kind)])] = &[
    ("a", &[("href", Kind::Address), ("rel", Kind::Words), ("target", Kind::Words)]),
    ("hr", &[("width", Kind::Measure)]),
    ("li", &[("value", Kind::Measure)]),
    ("ol", &[("start", Kind::Measure), ("type", Kind::Words)]),
    (
        "table",
        &[
            ("align", Kind::Words),
            ("bgcolor", Kind::Colour),
            ("border", Kind::Measure),
            ("cellpadding", Kind::Measure),
            ("cellspacing", Kind::Measure),
            ("width", Kind::Measure),
        ],
    ),
    ("td", CELL),
    ("th", CELL),
    ("tr", &[("align", Kind::Words), ("bgcolor", Kind::Colour), ("valign", Kind::Words)]),
];

const CELL: &[(&str, Kind)] = &[
    ("align", Kind::Words),
    ("bgcolor", Kind::Colour),
    ("colspan", Kind::Measure),
    ("rowspan", Kind::Measure),
    ("scope", Kind::Words),
    ("valign", Kind::Words),
    ("width", Kind::Measure),
];

/// Schemes that links may have: all lead somewhere, and only when the reader asks.
pub(super) const SCHEMES: &[&str] = &["http", "https", "mailto"];

/// What a `mailto:` link may fill in. Some programs attach files by other names.
pub(super) const MAIL_FIELDS: &[&str] = &["bcc", "body", "cc", "subject", "to"];

/// Properties that shape text and tables, and hide or fetch nothing, with blanks between.
const PROPERTIES: &[&str] = &[
    "background background-color color",
    "border border-bottom border-collapse border-color border-left border-radius border-right border-spacing",
    "border-style border-top border-width",
    "font font-family font-size font-style font-variant font-weight line-height list-style-type",
    "margin margin-bottom margin-left margin-right margin-top max-width min-width width table-layout",
    "padding padding-bottom padding-left padding-right padding-top",
    "text-align text-decoration text-transform vertical-align white-space word-break word-wrap",
];

/// Functions that may stand in a style's value; all make colours.
pub(super) const FUNCTIONS: &[&str] = &["hsl", "hsla", "rgb", "rgba"];

/// The elements.
pub(super) fn elements() -> impl Iterator<Item = &'static str> {
    ELEMENTS.iter().flat_map(|row| row.split(' '))
}

/// Whether a property of styles is listed.
pub(super) fn has_property(name: &str) -> bool {
    PROPERTIES.iter().flat_map(|row| row.split(' ')).any(|property| property == name)
}

/// The kind of an attribute of a listed element; nothing where the list does not have it.
pub(super) fn kind(element: &str, attribute: &str) -> Option<Kind> {
    let own = ATTRIBUTES_OF.iter().find(|(name, _)| *name == element).map_or(&[][..], |(_, own)| own);
    own.iter().chain(ATTRIBUTES).find(|(name, _)| *name == attribute).map(|&(_, kind)| kind)
}
