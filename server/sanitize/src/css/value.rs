//! Declarations of a style attribute as typed values, by the CSS standard. Comments, escapes, blocks and variables are
//! resolved here, so that no other module parses text.
//! It must never take more than linear time: the number and size of variables are bounded.

use std::collections::BTreeMap;
use std::rc::Rc;

use cssparser::{Delimiter, ParseError, Parser, Token};

/// Most variables that are kept.
const MAX_VARIABLES: usize = 64;
/// Most items of a variable.
const MAX_VARIABLE_ITEMS: usize = 16;

/// A part of a value. Words, units and names of functions are in lower case.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Item {
    Word(String),
    Number(f32),
    /// 100 is the whole.
    Percent(f32),
    Dimension(f32, String),
    /// Without its `#`.
    Hash(String),
    /// A quoted text, unchanged.
    Text(String),
    /// A function with its arguments; plain brackets have no name.
    Call(String, Vec<Item>),
    /// A comma, a slash, a sign of arithmetic.
    Sign(char),
}

impl Item {
    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(self, Self::Word(own) if own == word)
    }

    fn size(&self) -> usize {
        match self {
            Self::Call(_, items) => 1 + items.iter().map(Self::size).sum::<usize>(),
            _ => 1,
        }
    }
}

/// The variables that an element passes on to its content, with their values.
pub(super) type Variables = Option<Rc<BTreeMap<String, Vec<Item>>>>;

/// One declaration: its property without a maker's prefix, and its value.
pub(super) struct Declaration {
    pub(super) property: String,
    pub(super) value: Vec<Item>,
    pub(super) important: bool,
}

/// Reads a style attribute and hands each declaration to `visit`.
pub(super) fn each(style: &str, variables: &Variables, mut visit: impl FnMut(&Declaration)) {
    let mut parser = Parser::new(style);
    loop {
        let name = match parser.next() {
            Err(_) => return,
            Ok(Token::Semicolon) => continue,
            Ok(Token::Ident(name)) => name.to_ascii_lowercase(),
            Ok(_) => {
                skip_declaration(&mut parser);
                continue;
            }
        };
        match parser.next() {
            Ok(Token::Colon) => {}
            Ok(Token::Semicolon) => continue,
            _ => {
                skip_declaration(&mut parser);
                continue;
            }
        }
        let read: Result<Vec<Item>, ParseError<()>> =
            parser.parse_until_after(Delimiter::Semicolon, |value| Ok(items(value, variables)));
        let Ok(mut value) = read else { continue };
        let important = matches!(&value[..], [.., Item::Sign('!'), Item::Word(word)] if word == "important");
        if important {
            value.truncate(value.len() - 2);
        }
        visit(&Declaration { property: without_prefix(name), value, important });
    }
}

/// The variables that are in force after a style attribute.
pub(super) fn variables(style: &str, outer: &Variables) -> Variables {
    // An escape could spell `--`.
    if !style.contains("--") && !style.contains('\\') {
        return outer.clone();
    }
    let mut known = outer.clone();
    for important in [false, true] {
        let before = known.clone();
        each(style, &before, |declaration| {
            let Declaration { property, value, .. } = declaration;
            if !property.starts_with("--") || declaration.important != important {
                return;
            }
            let all = Rc::make_mut(known.get_or_insert_default());
            let small = value.iter().map(Item::size).sum::<usize>() <= MAX_VARIABLE_ITEMS;
            if small && (all.len() < MAX_VARIABLES || all.contains_key(property)) {
                all.insert(property.clone(), value.clone());
            }
        });
    }
    known
}

/// A text as one value.
pub(super) fn value(text: &str) -> Vec<Item> {
    items(&mut Parser::new(text), &None)
}

fn skip_declaration(parser: &mut Parser<'_>) {
    while let Ok(token) = parser.next() {
        if matches!(token, Token::Semicolon) {
            return;
        }
    }
}

fn without_prefix(name: String) -> String {
    if name.starts_with("--") {
        return name;
    }
    let plain = ["-webkit-", "-moz-", "-ms-", "-o-", "-khtml-"].iter().find_map(|p| name.strip_prefix(p));
    plain.map(str::to_owned).unwrap_or(name)
}

fn items(parser: &mut Parser<'_>, variables: &Variables) -> Vec<Item> {
    let mut out = Vec::new();
    while let Ok(token) = parser.next().cloned() {
        out.push(match token {
            Token::Ident(word) => Item::Word(word.to_ascii_lowercase()),
            Token::Number { value, .. } => Item::Number(value),
            Token::Percentage { unit_value, .. } => Item::Percent(unit_value * 100.0),
            Token::Dimension { value, unit, .. } => Item::Dimension(value, unit.to_ascii_lowercase()),
            Token::Hash(digits) | Token::IDHash(digits) => Item::Hash(digits.to_ascii_lowercase()),
            Token::QuotedString(text) => Item::Text(text.to_string()),
            Token::UnquotedUrl(_) | Token::BadUrl(_) => Item::Call("url".to_owned(), Vec::new()),
            Token::Comma => Item::Sign(','),
            Token::Delim(sign) => Item::Sign(sign),
            Token::Function(name) if name.eq_ignore_ascii_case("var") => {
                out.extend(variable(parser, variables));
                continue;
            }
            Token::Function(name) => {
                Item::Call(without_prefix(name.to_ascii_lowercase()), nested(parser, variables))
            }
            Token::ParenthesisBlock => Item::Call(String::new(), nested(parser, variables)),
            _ => continue,
        });
    }
    out
}

fn nested(parser: &mut Parser<'_>, variables: &Variables) -> Vec<Item> {
    let read: Result<Vec<Item>, ParseError<()>> =
        parser.parse_nested_block(|inner| Ok(items(inner, variables)));
    read.unwrap_or_default()
}

/// The value of `var(--name, otherwise)`.
fn variable(parser: &mut Parser<'_>, variables: &Variables) -> Vec<Item> {
    let inside = nested(parser, variables);
    let Some(Item::Word(name)) = inside.first() else { return Vec::new() };
    match variables.as_ref().and_then(|all| all.get(name)) {
        Some(known) => known.clone(),
        None => inside.get(2..).unwrap_or_default().to_vec(),
    }
}
