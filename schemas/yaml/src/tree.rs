//! The tree of a text: what stands where. It must never grow beyond its limits, whatever the text says.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use granit_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, StrInput};

use crate::{Mistake, Place};

/// Deepest nesting. Reading goes down the stack.
const DEPTH_MAX: usize = 128;
/// Most values of a document, with the copies that aliases stand for.
const VALUES_MAX: usize = 100_000;

/// A value and where it begins.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) kind: Kind,
}

#[derive(Debug, Clone)]
pub(crate) enum Kind {
    /// A word or a text; `is_plain` without quotes, so that it may be a number.
    Scalar {
        text: String,
        is_plain: bool,
    },
    Sequence(Vec<Node>),
    /// In the file's order; no two scalar keys are alike.
    Mapping(Vec<(Node, Node)>),
}

impl Node {
    /// How many values it holds, with itself, and how deep they are nested.
    fn extent(&self) -> (usize, usize) {
        let within = |(values, depth): (usize, usize), node: &Self| {
            let (more, deeper) = node.extent();
            (values + more, depth.max(deeper + 1))
        };
        match &self.kind {
            Kind::Scalar { .. } => (1, 0),
            Kind::Sequence(items) => items.iter().fold((1, 0), within),
            Kind::Mapping(entries) => {
                entries.iter().flat_map(|(key, value)| [key, value]).fold((1, 0), within)
            }
        }
    }
}

/// Reads a text with one document; an empty one is null.
pub(crate) fn parse(text: &str) -> Result<Node, Mistake> {
    let mut tree = Tree { parser: Parser::new_from_str(text), anchors: BTreeMap::new(), values: 0 };
    let mut document = None;
    loop {
        let (event, span) = tree.next()?;
        match event {
            Event::StreamStart | Event::DocumentEnd => {}
            Event::DocumentStart(..) if document.is_some() => {
                return Err(Mistake::at(place(span.start), "a second document; a file holds one"));
            }
            Event::DocumentStart(..) => {
                let (event, span) = tree.next()?;
                document = Some(tree.node(event, span, 0)?);
            }
            _ => break,
        }
    }
    let nothing = || Node {
        place: Place { line: 1, column: 1 },
        kind: Kind::Scalar { text: String::new(), is_plain: true },
    };
    Ok(document.unwrap_or_else(nothing))
}

struct Tree<'text> {
    parser: Parser<'text, StrInput<'text>>,
    /// By the parser's number.
    anchors: BTreeMap<usize, Rc<Node>>,
    values: usize,
}

impl<'text> Tree<'text> {
    /// The next event; the end of the stream after the last one.
    fn next(&mut self) -> Result<(Event<'text>, Span), Mistake> {
        match self.parser.next_event() {
            None => Ok((Event::StreamEnd, Span::empty(Marker::new(0, 1, 0)))),
            Some(next) => next.map_err(|error| of_parser(&error)),
        }
    }

    fn node(&mut self, event: Event<'text>, span: Span, depth: usize) -> Result<Node, Mistake> {
        let place = place(span.start);
        self.take((1, 0), depth, place)?;
        let (kind, anchor, tag) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let is_plain = style == ScalarStyle::Plain;
                (Kind::Scalar { text: text.into_owned(), is_plain }, anchor, tag)
            }
            Event::SequenceStart(_, anchor, tag) => (self.sequence(depth)?, anchor, tag),
            Event::MappingStart(_, anchor, tag) => (self.mapping(depth)?, anchor, tag),
            Event::Alias(anchor) => return self.copy(anchor, depth, place),
            other => return Err(Mistake::at(place, format!("unexpected {other:?}"))),
        };
        if tag.is_some() {
            let at = span.tag_start().map_or(place, self::place);
            return Err(Mistake::at(at, "a tag (`!name`) is not read here; leave it out"));
        }
        let node = Node { place, kind };
        if anchor != 0 {
            self.anchors.insert(anchor, Rc::new(node.clone()));
        }
        Ok(node)
    }

    fn sequence(&mut self, depth: usize) -> Result<Kind, Mistake> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(Kind::Sequence(items)),
                (event, span) => items.push(self.node(event, span, depth + 1)?),
            }
        }
    }

    fn mapping(&mut self, depth: usize) -> Result<Kind, Mistake> {
        let (mut entries, mut names) = (Vec::new(), BTreeSet::new());
        loop {
            let key = match self.next()? {
                (Event::MappingEnd, _) => return Ok(Kind::Mapping(entries)),
                (event, span) => self.node(event, span, depth + 1)?,
            };
            if let Kind::Scalar { text, is_plain } = &key.kind {
                if *is_plain && text == "<<" {
                    return Err(Mistake::at(
                        key.place,
                        "a merge key (`<<`) is not read here; write the entries out",
                    ));
                }
                if !names.insert(text.to_owned()) {
                    return Err(Mistake::at(key.place, format!("duplicate key `{text}`; remove one")));
                }
            }
            let (event, span) = self.next()?;
            entries.push((key, self.node(event, span, depth + 1)?));
        }
    }

    /// A copy of what an anchor names. A mistake in it is at the anchor, where it can be mended.
    fn copy(&mut self, anchor: usize, depth: usize, place: Place) -> Result<Node, Mistake> {
        let missing = || Mistake::at(place, "an alias within its own anchor; write the value out");
        let named = self.anchors.get(&anchor).map(Rc::clone).ok_or_else(missing)?;
        self.take(named.extent(), depth, place)?;
        Ok(Node::clone(&named))
    }

    /// Holds the limits before a node of this extent is taken.
    fn take(&mut self, extent: (usize, usize), depth: usize, place: Place) -> Result<(), Mistake> {
        self.values += extent.0;
        if self.values > VALUES_MAX {
            return Err(Mistake::at(place, format!("more than {VALUES_MAX} values")));
        }
        if depth + extent.1 > DEPTH_MAX {
            return Err(Mistake::at(place, format!("nested more than {DEPTH_MAX} deep")));
        }
        Ok(())
    }
}

fn of_parser(error: &ScanError) -> Mistake {
    Mistake::at(place(*error.marker()), error.info())
}

/// The parser counts columns from 0.
fn place(at: Marker) -> Place {
    Place { line: at.line(), column: at.col() + 1 }
}
