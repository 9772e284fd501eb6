//! A text within a quote of Markdown.
//!
//! It must never let a line of the text begin a line of the document, whatever it holds.

use crate::text;

/// The text as a quote of at most `bytes_max` bytes; the part that is left out is marked.
pub(crate) fn quote(words: &str, bytes_max: usize) -> String {
    let cut = text::cut_bytes(words, bytes_max);
    let mut out = String::with_capacity(cut.len() + 64);
    for line in cut.lines() {
        let line = line.trim_end();
        out.push_str(if line.is_empty() { ">" } else { "> " });
        out.push_str(line);
        out.push('\n');
    }
    if cut.len() < words.len() {
        out.push_str("> …\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_that_is_too_long_is_marked() {
        assert_eq!(quote("one\n\ntwo", 100), "> one\n>\n> two\n");
        assert_eq!(quote("one two", 3), "> one\n> …\n");
        assert_eq!(quote("", 3), "");
    }

    proptest! {
        #[test]
        fn every_line_stays_in_the_quote(words in "(## Session |---|```|~~~|> |<!--|\\r|\u{2028}|\\PC|\n){0,40}", bytes_max in 0_usize..200) {
            let quoted = quote(&text::safe(&words), bytes_max);
            prop_assert!(quoted.is_empty() || quoted.ends_with('\n'));
            prop_assert!(quoted.lines().all(|line| line.starts_with('>')));
            // Another program may take more characters for the end of a line.
            prop_assert!(quoted.split(['\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}']).skip(1).all(str::is_empty), "{quoted:?}");
        }
    }
}
