//! A scenario that can't be used: where, what, and how to fix it.

use std::fmt;

/// Rendered with file, line and a caret; the first line is the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioError {
    /// The whole text to show.
    pub rendered: String,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.rendered)
    }
}

impl std::error::Error for ScenarioError {}

/// A place in a scenario file, both from 1.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl Place {
    /// The place that the parser names.
    pub(crate) fn of(at: serde_saphyr::Location) -> Self {
        let number = |n| usize::try_from(n).unwrap_or(usize::MAX);
        Self { line: number(at.line()), column: number(at.column()) }
    }
}

impl ScenarioError {
    /// Frames `message` under the word at `place`, rustc's way; `help` says how to fix it.
    pub(crate) fn at(file: &str, source: &str, place: Place, message: &str, help: Option<&str>) -> Self {
        use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
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
        Self { rendered: Renderer::plain().render(&groups) }
    }
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
        let error = ScenarioError::at(
            "a.yaml",
            "id: a\nsteps: []\n",
            Place { line: 2, column: 1 },
            "no steps",
            Some("add one"),
        );
        assert!(error.rendered.contains("a.yaml:2:1"), "{error}");
        assert!(error.rendered.contains("^^^^^"), "{error}");
    }
}
