//! What of a text is shown in the cells of a terminal.
//!
//! Terminals disagree on how wide joined emoji are, so only their first character is shown. It must never let through a
//! character that moves the cursor, changes a colour or turns the text around.

use std::borrow::Cow;

use entraclaw_sanitize::{clean_line, clean_text};
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr;

/// Cells of a tab.
const TAB: &str = "    ";

/// A stranger's text, safe to show; line ends stay.
pub fn text(raw: &str) -> String {
    shown(&clean_text(raw)).into_owned()
}

/// The same as [`text`], joined to one line of so many characters at most.
pub fn line(raw: &str, chars_max: usize) -> String {
    // What is cut off anyway is not cleaned.
    let head: String = raw.chars().take(chars_max.saturating_mul(4)).collect();
    let line = clean_line(&head);
    let mut line = shown(&line).into_owned();
    if let Some((at, _)) = line.char_indices().nth(chars_max) {
        line.truncate(at);
        line.push('…');
    }
    line
}

/// Whether a person may type or paste this character. Joiners may be: they are sent, and not shown.
pub(crate) fn may_be_typed(c: char) -> bool {
    !c.is_control() && !turns_around(c) && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}')
}

/// The columns of a text without line ends.
pub(crate) fn columns(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.graphemes(true).map(UnicodeWidthStr::width).sum() }
}

/// The characters that are shown.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    if text.chars().all(|c| matches!(c, ' '..='~' | '\n' | '\u{a1}'..='\u{ac}' | '\u{ae}'..='\u{2ff}')) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut is_joined = false;
    for c in text.chars() {
        match c {
            '\n' => out.push(c),
            '\t' => out.push_str(TAB),
            // The next one is drawn over this one where a terminal knows the pair, and beside it where not.
            '\u{200d}' => {
                is_joined = true;
                continue;
            }
            c if c.is_control() || turns_around(c) || changes_width(c) => continue,
            _ if is_joined && !c.is_alphabetic() => {}
            c => out.push(c),
        }
        is_joined = false;
    }
    Cow::Owned(out)
}

fn turns_around(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Variation selectors, skin tones, tags, and characters of no width that no text needs.
fn changes_width(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{200b}' | '\u{200c}' | '\u{2060}'..='\u{2064}' | '\u{2028}' | '\u{2029}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{1f3fb}'..='\u{1f3ff}' | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_and_turns_are_gone_and_the_rest_stays() {
        let hostile = "a\u{1b}[2J\u{1b}]0;title\u{7}b\u{9b}31m\u{202e}c\r\n\td";
        let shown = text(hostile);
        assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "{shown:?}");
        assert!(!shown.contains('\u{202e}') && shown.ends_with("c\n    d"), "{shown:?}");
    }

    #[test]
    fn joined_emoji_are_their_first_character() {
        assert_eq!(text("👨‍👩‍👧 👍🏽 ❤️ é 漢字"), "👨 👍 ❤ é 漢字");
        assert_eq!(columns("漢字a"), 5);
    }

    #[test]
    fn a_line_is_cut_and_says_so() {
        assert_eq!(line("one\ntwo three", 100), "one two three");
        assert_eq!(line("abcdef", 3), "abc…");
    }

    #[test]
    fn a_person_may_not_type_what_controls() {
        assert!(['\u{1b}', '\u{202e}', '\n', '\u{85}'].into_iter().all(|c| !may_be_typed(c)));
        assert!(['a', '漢', '\u{301}', '\u{200d}'].into_iter().all(may_be_typed));
    }
}
