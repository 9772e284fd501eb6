//! A text of JSON with the place of every value and token.
//!
//! It must never be more lenient than the hosts that allow comments and trailing commas.

use std::ops::Range;

use jsonc_parser::ast::{Object, Value as Node};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::tokens::Token;
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};
use serde_json::Value;

use super::super::content::Problem;
use super::style::Style;

/// A text that was parsed completely.
pub(super) struct Document<'a> {
    pub(super) text: &'a str,
    root: Option<Node<'a>>,
    /// Every token with its place in bytes, comments too.
    tokens: Vec<Place>,
}

/// The place of a token.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) is_comma: bool,
    is_comment: bool,
}

/// The result of a search for a path.
pub(super) enum Found<'d, 'a> {
    At {
        value: &'d Node<'a>,
        /// The range of name and value.
        member: Range<usize>,
        parent: &'d Object<'a>,
    },
    /// The last object on the path, and the index of the first name that it lacks.
    Missing { parent: &'d Object<'a>, depth: usize },
}

impl<'a> Document<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, Problem> {
        let collect = CollectOptions { comments: CommentCollectionStrategy::AsTokens, tokens: true };
        let parsed = parse_to_ast(text, &collect, &options()).map_err(|error| Problem {
            what: format!("it can't be read as JSON: {}; correct it first", lower(&error.kind().to_string())),
            at: Some((error.line_display(), error.column_display())),
        })?;
        let place = |token: &jsonc_parser::tokens::TokenAndRange<'_>| Place {
            start: token.range.start,
            end: token.range.end,
            is_comma: token.token == Token::Comma,
            is_comment: matches!(token.token, Token::CommentLine(_) | Token::CommentBlock(_)),
        };
        let tokens = parsed.tokens.iter().flatten().map(place).collect();
        Ok(Self { text, root: parsed.value, tokens })
    }

    pub(super) fn root(&self) -> Option<&Node<'a>> {
        self.root.as_ref()
    }

    pub(super) fn style(&self) -> Style<'a> {
        Style::of(self.text, self.root.as_ref())
    }

    /// Finds a path. Refuses a value on the path that is no object, and a name that occurs twice.
    pub(super) fn find(&self, path: &[String]) -> Result<Found<'_, 'a>, Problem> {
        let Some(Node::Object(root)) = &self.root else {
            return Err(Problem::new("it holds no object"));
        };
        let mut parent = root;
        for (depth, name) in path.iter().enumerate() {
            let mut named = parent.properties.iter().filter(|member| member.name.as_str() == name);
            let Some(member) = named.next() else { return Ok(Found::Missing { parent, depth }) };
            if let Some(second) = named.next() {
                let what =
                    format!("`{}` stands here a second time; keep one of them", path[..=depth].join("."));
                return Err(Problem::at(self.text, second.range.start, what));
            }
            if depth + 1 == path.len() {
                let range = member.range.start..member.range.end;
                return Ok(Found::At { value: &member.value, member: range, parent });
            }
            match &member.value {
                Node::Object(inner) => parent = inner,
                other => return Err(self.wrong_kind(other, &path[..=depth], "an object")),
            }
        }
        Err(Problem::new("an empty path"))
    }

    /// The problem that a value has another type than the host wants.
    pub(super) fn wrong_kind(&self, value: &Node<'_>, path: &[String], wanted: &str) -> Problem {
        let kind = match value {
            Node::Object(_) => "an object",
            Node::Array(_) => "a list",
            Node::StringLit(_) => "a text",
            Node::NumberLit(_) => "a number",
            Node::BooleanLit(_) => "true or false",
            Node::NullKeyword(_) => "null",
        };
        let whose = if path.is_empty() { "the file".to_owned() } else { format!("`{}`", path.join(".")) };
        self.problem(value, format!("{whose} must be {wanted}, and is {kind}; correct it first"))
    }

    pub(super) fn problem(&self, value: &Node<'_>, what: String) -> Problem {
        Problem::at(self.text, range(value).start, what)
    }

    /// The first token from a byte on, without comments.
    pub(super) fn next_token(&self, from: usize) -> Option<Place> {
        let index = self.tokens.partition_point(|token| token.start < from);
        self.tokens[index..].iter().copied().find(|token| !token.is_comment)
    }

    /// The last token that ends at or before a byte.
    pub(super) fn previous_token(&self, until: usize, comments: bool) -> Option<Place> {
        let index = self.tokens.partition_point(|token| token.end <= until);
        self.tokens[..index].iter().rev().copied().find(|token| comments || !token.is_comment)
    }
}

/// The options of the most lenient host.
fn options() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

/// The value as data.
pub(super) fn value(node: &Node<'_>) -> Value {
    node.clone().into()
}

/// The range of the value in bytes.
pub(super) fn range(node: &Node<'_>) -> Range<usize> {
    let range = node.range();
    range.start..range.end
}

fn lower(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_lowercase().chain(characters).collect())
}
