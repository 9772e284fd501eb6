//! Makes text that leaves this crate safe to show: without secrets, terminal controls and invisible characters.
//!
//! It must never judge what a text says: what is data stays data, with any author.

use entraclaw_sanitize::secrets::HIDDEN;
use entraclaw_sanitize::{clean_line, clean_text};
use secrets::hide_possible;

/// The text as it may be shown. Invisible characters go first, since one of them may split a secret. It rather hides too
/// much: a word that is missed here is still in the session.
pub fn safe(text: &str) -> String {
    hide_possible(&clean_text(text), HIDDEN).text.into_owned()
}

/// The same as [`safe`] as one line of at most `chars_max` characters.
pub fn safe_line(text: &str, chars_max: usize) -> String {
    cut(&hide_possible(&clean_line(text), HIDDEN).text, chars_max)
}

/// The first `chars_max` characters, with `…` in place of the last one if more were there.
pub fn cut(text: &str, chars_max: usize) -> String {
    if text.chars().count() <= chars_max {
        return text.to_owned();
    }
    text.chars().take(chars_max.saturating_sub(1)).chain(['…']).collect()
}

/// The beginning of a text of at most `bytes_max` bytes.
pub(crate) fn cut_bytes(text: &str, bytes_max: usize) -> &str {
    let mut end = text.len().min(bytes_max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn a_secret_with_an_invisible_character_in_it_is_hidden() {
        let shown = safe("use ghp_0123456789\u{200b}abcdefABCDEF\u{1b}[2J now");
        assert!(
            !shown.contains("abcdef") && shown.starts_with("use [") && shown.ends_with(" now"),
            "{shown}"
        );
        assert_eq!(safe_line("one\ntwo\nthree", 9), "one two …");
    }
    #[rstest]
    #[case("", 0, "")]
    #[case("abc", 3, "abc")]
    #[case("abc", 2, "a…")]
    #[case("äöü", 3, "äöü")]
    #[case("äöü", 2, "ä…")]
    #[case("abc", 1, "…")]
    #[case("abc", 0, "…")]
    fn a_text_is_cut_by_its_characters(#[case] text: &str, #[case] chars_max: usize, #[case] expected: &str) {
        assert_eq!(cut(text, chars_max), expected);
    }

    #[rstest]
    #[case("abc", 3, "abc")]
    #[case("abc", 9, "abc")]
    #[case("abc", 2, "ab")]
    #[case("aäb", 2, "a")]
    #[case("aäb", 3, "aä")]
    #[case("🦀", 3, "")]
    #[case("", 0, "")]
    fn a_beginning_ends_with_a_whole_character(
        #[case] text: &str,
        #[case] bytes_max: usize,
        #[case] expected: &str,
    ) {
        assert_eq!(cut_bytes(text, bytes_max), expected);
    }
}
