//! Adds a value to a text of JSON and removes one, in the style of the text around it.
//!
//! It must never change another byte than the value and its separators.

use std::ops::Range;

use jsonc_parser::ast::{Array, Object};
use jsonc_parser::common::Range as Span;
use serde_json::Value;

use super::document::{Document, range};
use super::style::{Style, line_indent, own_indent};

/// The text with one more member at the end of an object, and whether an empty `{}` was opened for it.
pub(super) fn insert_member(
    document: &Document<'_>,
    object: &Object<'_>,
    name: &str,
    value: &Value,
) -> (String, bool) {
    let ends = object.properties.first().zip(object.properties.last());
    let ends = ends.map(|(first, last)| (first.range.start, last.range.end));
    insert(document, object.range, ends, &|style, indent| {
        format!("{}: {}", Value::from(name), style.render(value, indent))
    })
}

/// The text with one more element at the end of a list, and whether an empty `[]` was opened for it.
pub(super) fn insert_element(document: &Document<'_>, array: &Array<'_>, value: &Value) -> (String, bool) {
    let ends = array.elements.first().zip(array.elements.last());
    let ends = ends.map(|(first, last)| (range(first).start, range(last).end));
    insert(document, array.range, ends, &|style, indent| style.render(value, indent))
}

fn insert(
    document: &Document<'_>,
    container: Span,
    ends: Option<(usize, usize)>,
    render: &dyn Fn(&Style<'_>, &str) -> String,
) -> (String, bool) {
    let text = document.text;
    let style = document.style();
    let close = container.end - 1;
    let outer = line_indent(text, container.start);
    let has_lines = text[container.start..container.end].contains('\n');
    // The last comment belongs to the value before it.
    let at = document.previous_token(close, true).map_or(close, |token| token.end);
    let inner = ends.and_then(|(first, _)| own_indent(text, first));
    let inner = inner.map_or_else(|| format!("{outer}{}", style.indent), str::to_owned);
    let Some((_, last)) = ends else {
        let new = render(&style, &inner);
        if style.is_compact {
            return (spliced(text, &[(at..at, new)]), false);
        }
        let tail = if has_lines { String::new() } else { format!("{}{outer}", style.newline) };
        return (spliced(text, &[(at..at, format!("{}{inner}{new}{tail}", style.newline))]), !has_lines);
    };
    let new = if has_lines {
        format!("{}{inner}{}", style.newline, render(&style, &inner))
    } else {
        format!(" {}", render(&Style { is_compact: true, ..document.style() }, ""))
    };
    let changes = if document.next_token(last).is_some_and(|token| token.is_comma) {
        vec![(at..at, format!("{new},"))]
    } else {
        vec![(last..last, ",".to_owned()), (at..at, new)]
    };
    (spliced(text, &changes), false)
}

/// The text without a member or element, and without the comma that separated it.
/// `opened` says that the container was empty and on one line before, and must be so again if it is empty.
pub(super) fn remove(document: &Document<'_>, item: Range<usize>, container: Span, opened: bool) -> String {
    let text = document.text;
    let following = document.next_token(item.end).filter(|token| token.is_comma);
    let leading = document.previous_token(item.start, false).filter(|token| token.is_comma);
    let line = text[..item.start].trim_end_matches([' ', '\t']);
    let own_line = line.strip_suffix('\n').map(|line| line.strip_suffix('\r').unwrap_or(line).len());
    let start = own_line.unwrap_or(line.len());
    let changes = match (following, leading) {
        (Some(comma), _) if own_line.is_some() => {
            vec![(start..item.end, String::new()), (comma.start..comma.end, String::new())]
        }
        (Some(comma), Some(before)) => vec![(start.max(before.end)..comma.end, String::new())],
        (Some(comma), None) => {
            let rest = &text[comma.end..];
            let blank = rest.len() - rest.trim_start_matches([' ', '\t']).len();
            vec![(item.start..comma.end + blank, String::new())]
        }
        (None, Some(comma)) => {
            vec![(comma.start..comma.end, String::new()), (start.max(comma.end)..item.end, String::new())]
        }
        (None, None) => {
            // If an empty container was opened, the line end after the item is ours too.
            let rest = &text[item.end..container.end];
            let closing = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n')).filter(|_| opened);
            let closing =
                closing.map(|rest| rest.strip_prefix(line_indent(text, container.start)).unwrap_or(rest));
            let end = container.end - closing.unwrap_or(rest).len();
            vec![(start.max(container.start + 1)..end, String::new())]
        }
    };
    spliced(text, &changes)
}

/// The text with some ranges replaced; they are in order and don't overlap.
fn spliced(text: &str, changes: &[(Range<usize>, String)]) -> String {
    let mut out = String::with_capacity(text.len() + changes.iter().map(|(_, new)| new.len()).sum::<usize>());
    let mut from = 0;
    for (range, new) in changes {
        out.push_str(&text[from..range.start]);
        out.push_str(new);
        from = range.end;
    }
    out.push_str(&text[from..]);
    out
}
