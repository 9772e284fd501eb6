//! Shows a message under the word of a file that it is about.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use crate::Place;

/// Frames `message` under the word at `place`, rustc's way; `help` says how to fix it. The first line is the message.
pub fn frame(file: &str, source: &str, place: Place, message: &str, help: Option<&str>) -> String {
    let start = offset_of(source, place);
    let end = source[start..].find(['\n', ',', '}', ']', ':']).map_or(source.len(), |n| start + n.max(1));
    let end = end.min(source.len()).max(start);
    let title = Level::ERROR
        .primary_title(message)
        .element(Snippet::source(source).path(file).annotation(AnnotationKind::Primary.span(start..end)));
    let mut groups: Vec<Group<'_>> = vec![title];
    if let Some(help) = help {
        groups.push(Group::with_title(Level::HELP.secondary_title(help)));
    }
    Renderer::plain().render(&groups)
}

fn offset_of(source: &str, place: Place) -> usize {
    let mut offset = 0;
    for (number, line) in source.split_inclusive('\n').enumerate() {
        if number + 1 == place.line {
            let column: usize = line.chars().take(place.column.saturating_sub(1)).map(char::len_utf8).sum();
            return (offset + column).min(source.len());
        }
        offset += line.len();
    }
    source.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_stands_under_the_word() {
        let place = Place { line: 2, column: 1 };
        let framed = frame("a.yaml", "id: a\nsteps: []\n", place, "no steps", Some("add one"));
        assert!(framed.contains("a.yaml:2:1"), "{framed}");
        assert!(framed.contains("^^^^^"), "{framed}");
    }
}
