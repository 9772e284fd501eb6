//! Markdown as plain text, for a reader that shows no marks.
//!
//! It must never lose a word.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// The text without its marks. List items keep a dash, links their address.
pub(super) fn plain(markdown: &str) -> String {
    let mut out = String::with_capacity(markdown.len());
    let mut links = Vec::new();
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        match event {
            Event::Text(text)
            | Event::Code(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text) => out.push_str(&text),
            Event::SoftBreak | Event::HardBreak => out.push('\n'),
            Event::TaskListMarker(done) => out.push_str(if done { "[x] " } else { "[ ] " }),
            Event::Start(Tag::Item) => {
                new_line(&mut out);
                out.push_str("- ");
            }
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                links.push((out.len(), dest_url));
            }
            Event::End(TagEnd::Link | TagEnd::Image) => {
                if let Some((from, address)) = links.pop()
                    && out[from..] != *address
                {
                    out.push_str(" (");
                    out.push_str(&address);
                    out.push(')');
                }
            }
            Event::End(TagEnd::Item | TagEnd::TableRow | TagEnd::TableHead) => new_line(&mut out),
            Event::End(TagEnd::TableCell) => out.push('\t'),
            Event::Rule
            | Event::End(
                TagEnd::Paragraph
                | TagEnd::Heading(_)
                | TagEnd::CodeBlock
                | TagEnd::List(_)
                | TagEnd::Table
                | TagEnd::BlockQuote(_)
                | TagEnd::HtmlBlock,
            ) => blank_line(&mut out),
            Event::Start(_) | Event::End(_) => {}
        }
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

fn new_line(out: &mut String) {
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
}

fn blank_line(out: &mut String) {
    new_line(out);
    if !out.is_empty() && !out.ends_with("\n\n") {
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn marks_go_and_words_stay() {
        let markdown = "# Head\n\nA **bold** [link](https://contoso.com/a) and `code`.\n\n- one\n- two\n\n```rust\nlet x = 1;\n```\n\n---\n\nend";
        let wanted =
            "Head\n\nA bold link (https://contoso.com/a) and code.\n\n- one\n- two\n\nlet x = 1;\n\nend\n";
        assert_eq!(plain(markdown), wanted);
    }

    proptest! {
        #[test]
        fn no_word_is_lost(words in proptest::collection::vec("[a-z]{1,9}", 1..20)) {
            let shown = plain(&words.join("\n\n## "));
            prop_assert_eq!(shown.split_whitespace().collect::<Vec<_>>(), words);
        }
    }
    #[test]
    fn every_mark_of_markdown_goes_and_its_words_stay() {
        for (markdown, expected) in [
            ("", "\n"),
            ("one\ntwo  \nthree", "one\ntwo\nthree\n"),
            ("one\n\n\n\ntwo", "one\n\ntwo\n"),
            ("> quoted\n\nafter", "quoted\n\nafter\n"),
            ("![a picture](p.png) <https://contoso.com>", "a picture (p.png) https://contoso.com\n"),
            ("[a [b](c)](d)", "[a b (c)](d)\n"),
            ("| a | b |\n|---|---|\n| c | d |\n\nend", "a\tb\t\nc\td\t\n\nend\n"),
            ("1. one\n   - two\n2. three", "- one\n- two\n\n- three\n"),
            ("a <b>c</b>\n\n<div>d</div>\n\ne", "a <b>c</b>\n\n<div>d</div>\n\ne\n"),
            ("one\n\n***\n\ntwo", "one\n\ntwo\n"),
        ] {
            assert_eq!(plain(markdown), expected, "{markdown}");
        }
    }
}
