//! Makes foreign text safe to read: invisible characters become visible, and long texts are cut with a note.
//! No character may be dropped without a note, and none may have an effect (reorder, hide, colour, ring).

use std::borrow::Cow;
use std::fmt::Write;

use unicode_general_category::{GeneralCategory, get_general_category};

/// Whether a character is invisible, or changes how others are shown. Line feed and tab count as visible.
pub fn is_hidden(character: char) -> bool {
    if matches!(character, '\n' | '\t' | ' '..='~') {
        return false;
    }
    match get_general_category(character) {
        GeneralCategory::Control
        | GeneralCategory::Format
        | GeneralCategory::LineSeparator
        | GeneralCategory::ParagraphSeparator
        | GeneralCategory::PrivateUse
        | GeneralCategory::Surrogate
        | GeneralCategory::Unassigned => true,
        // The ideographic space is ordinary in Chinese and Japanese; the other characters only look like a
        // space.
        GeneralCategory::SpaceSeparator => character != '\u{3000}',
        _ => matches!(character,
            // Default-ignorable characters with the category of letters or marks.
            '\u{034F}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}'
            | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FFA0}' | '\u{E0100}'..='\u{E01EF}'
            // Blank, with the category of symbols.
            | '\u{2800}'),
    }
}

/// The visible form of a hidden character: `⟨U+202E⟩`.
pub fn code_point(character: char) -> String {
    format!("⟨U+{:04X}⟩", u32::from(character))
}

/// The text with every hidden character as its code point. Line feeds and tabs stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_hidden(character) {
            // Writing to a `String` can't fail.
            let _ = write!(shown, "⟨U+{:04X}⟩", u32::from(character));
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

/// As [`visible`], on one line: a line feed is shown as `⏎`, a tab as `⇥`.
pub fn visible_line(text: &str) -> Cow<'_, str> {
    let shown = visible(text);
    if shown.contains(['\n', '\t']) {
        Cow::Owned(shown.replace('\n', "⏎").replace('\t', "⇥"))
    } else {
        shown
    }
}

/// The first part of a text, and the length of the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut<'a> {
    /// The kept part, which ends on a character boundary.
    pub head: &'a str,
    /// The length of the rest, in bytes.
    pub left_out_bytes: usize,
}

/// Keeps at most `bytes_max` bytes.
pub fn cut(text: &str, bytes_max: usize) -> Cut<'_> {
    let mut end = bytes_max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    Cut { head: &text[..end], left_out_bytes: text.len() - end }
}

/// A visible single line of at most `bytes_max` bytes of the original, with `… (n bytes left out)` if it is
/// cut.
pub fn short_line(text: &str, bytes_max: usize) -> String {
    let Cut { head, left_out_bytes } = cut(text, bytes_max);
    if left_out_bytes == 0 {
        visible_line(head).into_owned()
    } else {
        format!("{}… ({} left out)", visible_line(head), bytes(left_out_bytes))
    }
}

/// `1 byte`, `312 bytes`, `12,345 bytes`.
pub fn bytes(count: usize) -> String {
    counted(count as u64, "byte", "bytes")
}

/// `1 run`, `2 runs`, `10,000 runs`.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", thousands(count), if count == 1 { one } else { many })
}

/// `1,234,567`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A duration as text: `0 ms`, `513 ms`, `9.50 s`, `2 min 5 s`, `3 h 20 min`, `12 d 4 h`.
pub fn duration(total_ms: u64) -> String {
    let seconds = total_ms / 1_000;
    match total_ms {
        0..1_000 => format!("{total_ms} ms"),
        1_000..60_000 => format!("{seconds}.{:02} s", total_ms % 1_000 / 10),
        60_000..3_600_000 => format!("{} min {} s", seconds / 60, seconds % 60),
        3_600_000..172_800_000 => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

/// A time in a cell: `0.513`, `1:02.004`, `1:00:00.000`.
pub fn moment(at_ms: u64) -> String {
    let (seconds, ms) = (at_ms / 1_000, at_ms % 1_000);
    match seconds {
        0..60 => format!("{seconds}.{ms:03}"),
        60..3_600 => format!("{}:{:02}.{ms:03}", seconds / 60, seconds % 60),
        _ => format!("{}:{:02}:{:02}.{ms:03}", seconds / 3_600, seconds / 60 % 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("plain", "plain")]
    #[case("two\nlines\tand a tab", "two\nlines\tand a tab")]
    #[case("a\u{202E}b", "a⟨U+202E⟩b")]
    #[case("\u{1b}[31mred\u{7}", "⟨U+001B⟩[31mred⟨U+0007⟩")]
    #[case("zero\u{200B}width\u{FEFF}", "zero⟨U+200B⟩width⟨U+FEFF⟩")]
    #[case("tag\u{E0041}", "tag⟨U+E0041⟩")]
    #[case("carriage\rreturn", "carriage⟨U+000D⟩return")]
    #[case("no\u{A0}break", "no⟨U+00A0⟩break")]
    #[case("filler\u{3164}", "filler⟨U+3164⟩")]
    #[case("日本　語 é 👍 עברית", "日本　語 é 👍 עברית")]
    fn shows_hidden_characters(#[case] text: &str, #[case] shown: &str) {
        assert_eq!(visible(text), shown);
        assert_eq!(visible(shown), shown, "showing twice changes nothing");
    }

    #[test]
    fn one_line_stays_one_line() {
        assert_eq!(visible_line("a\nb\tc\r"), "a⏎b⇥c⟨U+000D⟩");
    }

    #[test]
    fn a_cut_keeps_characters_whole_and_counts_the_rest() {
        assert_eq!(cut("aéz", 2), Cut { head: "a", left_out_bytes: 3 });
        assert_eq!(cut("aéz", 9), Cut { head: "aéz", left_out_bytes: 0 });
        assert_eq!(short_line("abcdef", 2), "ab… (4 bytes left out)");
    }

    #[rstest]
    #[case(0, "0 ms")]
    #[case(999, "999 ms")]
    #[case(9_504, "9.50 s")]
    #[case(125_000, "2 min 5 s")]
    #[case(12_000_000, "3 h 20 min")]
    #[case(1_051_200_000, "12 d 4 h")]
    fn durations_read_well(#[case] ms: u64, #[case] words: &str) {
        assert_eq!(duration(ms), words);
    }

    #[rstest]
    #[case(513, "0.513")]
    #[case(62_004, "1:02.004")]
    #[case(3_600_000, "1:00:00.000")]
    fn moments_read_well(#[case] ms: u64, #[case] words: &str) {
        assert_eq!(moment(ms), words);
    }

    #[test]
    fn thousands_are_grouped() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
    }
}
