//! The characters that a text may hold: none that is invisible, reorders the text or has no defined meaning.
//! It must never change what a reader sees, except by composing (NFC), by the cap on marks and for undefined characters.

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeEmoji, UnicodeGeneralCategory};

use super::tally::Tally;

/// Most combining marks on one base character.
pub(super) const MAX_MARKS_PER_BASE: usize = 8;
/// The tag letters of the flags that Unicode recommends for general interchange: England, Scotland, Wales.
const FLAG_TAGS: [&str; 3] = ["gbeng", "gbsct", "gbwls"];

const ZWNJ: char = '\u{200c}';
const ZWJ: char = '\u{200d}';
const BLACK_FLAG: char = '\u{1f3f4}';
const CANCEL_TAG: char = '\u{e007f}';
const KEYCAP: char = '\u{20e3}';

/// Strips, composes and caps. Line ends come out as `\n`, all other blanks but the tab as U+0020.
pub(super) fn clean(text: &str, tally: &mut Tally) -> String {
    let plain = drop_unconditionally(text, tally);
    if plain.is_ascii() {
        return plain;
    }
    let placed = drop_out_of_place(&plain, tally);
    let composed = match is_nfc_quick(placed.chars()) {
        IsNormalized::Yes => placed,
        _ => placed.nfc().collect(),
    };
    cap_marks(&composed, tally)
}

/// What happens to a character wherever it stands.
enum Fate {
    Keep,
    Become(char),
    Drop(&'static str),
}

fn drop_unconditionally(text: &str, tally: &mut Tally) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c| !is_plain(c)) {
        out.push_str(&rest[..at]);
        let mut chars = rest[at..].chars();
        let Some(c) = chars.next() else { break };
        rest = chars.as_str();
        if c == '\r' {
            if !rest.starts_with('\n') {
                out.push('\n');
            }
            continue;
        }
        match fate(c) {
            Fate::Keep => out.push(c),
            Fate::Become(other) => {
                if other == char::REPLACEMENT_CHARACTER && c != other {
                    tally.remove("private");
                }
                out.push(other);
            }
            Fate::Drop(kind) => tally.remove(kind),
        }
    }
    out.push_str(rest);
    out
}

/// Common characters that need no table: ASCII, Latin letters, the frames that layout uses, ideographs.
fn is_plain(c: char) -> bool {
    matches!(
        c,
        ' '..='~'
            | '\n'
            | '\t'
            | '\u{a1}'..='\u{ac}'
            | '\u{ae}'..='\u{2ff}'
            | '\u{2500}'..='\u{25ff}'
            | '\u{4e00}'..='\u{9fff}'
    )
}

fn fate(c: char) -> Fate {
    match c {
        '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => Fate::Become('\n'),
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => Fate::Drop("control"),
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            Fate::Drop("bidi")
        }
        // Joiners, selectors and tags depend on their neighbours; the next step looks at them.
        ZWNJ | ZWJ | '\u{fe0e}' | '\u{fe0f}' | '\u{e0020}'..='\u{e007f}' => Fate::Keep,
        '\u{fe00}'..='\u{fe0d}' | '\u{180b}'..='\u{180f}' | '\u{e0100}'..='\u{e01ef}' => {
            Fate::Drop("variation")
        }
        '\u{e0000}'..='\u{e001f}' => Fate::Drop("tags"),
        '\u{34f}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{2065}'
        | '\u{3164}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fff8}' => Fate::Drop("invisible"),
        // The compatibility forms of the angle brackets, so that the escape covers them.
        '\u{ff1c}' | '\u{fe64}' => Fate::Become('<'),
        '\u{ff1e}' | '\u{fe65}' => Fate::Become('>'),
        // The braille pattern without dots looks like a blank.
        '\u{2800}' => Fate::Become(' '),
        _ => match c.general_category() {
            GeneralCategory::SpaceSeparator => Fate::Become(' '),
            GeneralCategory::Format if !is_visible_format(c) => Fate::Drop("invisible"),
            GeneralCategory::PrivateUse | GeneralCategory::Unassigned | GeneralCategory::Surrogate => {
                Fate::Become(char::REPLACEMENT_CHARACTER)
            }
            _ => Fate::Keep,
        },
    }
}

/// Visible format characters: signs that enclose the digits after them.
fn is_visible_format(c: char) -> bool {
    matches!(
        c,
        '\u{600}'
            ..='\u{605}'
                | '\u{6dd}'
                | '\u{70f}'
                | '\u{890}'
                | '\u{891}'
                | '\u{8e2}'
                | '\u{110bd}'
                | '\u{110cd}'
    )
}

/// Drops joiners, selectors and tag characters where they do not belong, judged by the kept text before them.
fn drop_out_of_place(text: &str, tally: &mut Tally) -> String {
    let depends =
        |c| matches!(c, ZWJ | ZWNJ | BLACK_FLAG | '\u{fe0e}' | '\u{fe0f}' | '\u{e0020}'..='\u{e007f}');
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    let mut base = ' ';
    let mut rest = text;
    while let Some(at) = rest.find(depends) {
        let run = &rest[..at];
        out.push_str(run);
        before = run.chars().next_back().unwrap_or(before);
        base = run.chars().rev().find(|&c| !is_mark(c)).unwrap_or(base);
        let mut chars = rest[at..].chars();
        let Some(c) = chars.next() else { break };
        rest = chars.as_str();
        let next = chars.next().unwrap_or(' ');
        let dropped = match c {
            ZWJ | ZWNJ => {
                let emoji = c == ZWJ && ends_emoji(before, base) && is_emoji_base(next);
                let script = is_joining_script(base) && is_joining_script(next);
                (!emoji && !script).then_some("invisible")
            }
            '\u{fe0e}' | '\u{fe0f}' => {
                let keycap = is_keycap_base(before) && next == KEYCAP && c == '\u{fe0f}';
                (!keycap && !is_emoji_base(before)).then_some("variation")
            }
            BLACK_FLAG => None,
            _ => Some("tags"),
        };
        if let Some(kind) = dropped {
            tally.remove(kind);
            continue;
        }
        out.push(c);
        before = c;
        if c == BLACK_FLAG {
            base = c;
            if let Some((flag, after)) = flag_tags(rest) {
                out.push_str(flag);
                before = CANCEL_TAG;
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// The tag characters of a known flag at the start of `text`, and what follows them.
fn flag_tags(text: &str) -> Option<(&str, &str)> {
    FLAG_TAGS.iter().find_map(|letters| {
        let tags = letters.chars().filter_map(|c| char::from_u32(0xe0000 + u32::from(c)));
        let mut rest = text;
        for tag in tags.chain([CANCEL_TAG]) {
            rest = rest.strip_prefix(tag)?;
        }
        Some((&text[..text.len() - rest.len()], rest))
    })
}

fn is_keycap_base(c: char) -> bool {
    matches!(c, '0'..='9' | '#' | '*')
}

fn is_emoji_base(c: char) -> bool {
    !c.is_ascii() && c.is_emoji_char()
}

/// Whether an emoji ends before a joiner: with its base, a skin tone, its selector or its flag's tags.
fn ends_emoji(before: char, base: char) -> bool {
    is_emoji_base(before) || (matches!(before, '\u{fe0f}' | CANCEL_TAG) && is_emoji_base(base))
}

/// Scripts whose letters join, or whose conjuncts need a joiner.
fn is_joining_script(c: char) -> bool {
    matches!(
        c,
        '\u{600}'..='\u{77f}'
            | '\u{7c0}'..='\u{8ff}'
            | '\u{900}'..='\u{dff}'
            | '\u{1000}'..='\u{109f}'
            | '\u{1780}'..='\u{17ff}'
            | '\u{1800}'..='\u{18af}'
            | '\u{1a20}'..='\u{1aaf}'
            | '\u{1b00}'..='\u{1bff}'
            | '\u{a840}'..='\u{a87f}'
            | '\u{a980}'..='\u{a9ff}'
            | '\u{fb50}'..='\u{fdff}'
            | '\u{fe70}'..='\u{fefc}'
            | '\u{10a00}'..='\u{10aff}'
            | '\u{10d00}'..='\u{10d3f}'
            | '\u{11000}'..='\u{11fff}'
            | '\u{1e900}'..='\u{1e95f}'
    )
}

fn is_mark(c: char) -> bool {
    let never = matches!(c, '\0'..='\u{2ff}' | '\u{2010}'..='\u{20cf}' | '\u{2100}'..='\u{2bff}' | '\u{4e00}'..='\u{9fff}');
    !never && c.general_category_group() == GeneralCategoryGroup::Mark
}

/// Caps the marks on one base. A joiner between them counts too, or it could carry any number of marks.
fn cap_marks(text: &str, tally: &mut Tally) -> String {
    let stacks = |c: char| is_mark(c) || matches!(c, ZWJ | ZWNJ);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(stacks) {
        let stack = &rest[at..];
        let stack = &stack[..stack.find(|c| !stacks(c)).unwrap_or(stack.len())];
        out.push_str(&rest[..at]);
        rest = &rest[at + stack.len()..];
        match stack.char_indices().nth(MAX_MARKS_PER_BASE) {
            None => out.push_str(stack),
            Some((end, _)) => {
                out.push_str(stack[..end].trim_end_matches([ZWJ, ZWNJ]));
                stack[end..].chars().for_each(|_| tally.remove("marks"));
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cleaned(text: &str) -> String {
        clean(text, &mut Tally::default())
    }

    #[test]
    fn joiners_stay_only_where_they_join() {
        for kept in ["👨‍👩‍👧", "👩🏽‍💻", "🏳️‍🌈", "می\u{200c}خواهم", "क्\u{200d}ष"]
        {
            assert_eq!(cleaned(kept), kept);
        }
        for (text, want) in [
            ("a\u{200c}b", "ab"),
            ("👨\u{200d}", "👨"),
            ("\u{200d}👨", "👨"),
            ("👨\u{200d}\u{200d}👩", "👨\u{200d}👩"),
            ("a\u{200d}👩", "a👩"),
            ("می\u{200c}a", "میa"),
            ("a\u{200c}می", "aمی"),
        ] {
            assert_eq!(cleaned(text), want);
        }
    }

    #[test]
    fn selectors_stay_only_on_emoji() {
        for kept in ["❤\u{fe0f}", "1\u{fe0f}\u{20e3}", "☎\u{fe0e}"] {
            assert_eq!(cleaned(kept), kept);
        }
        assert_eq!(cleaned("1\u{fe0f}2"), "12");
        assert_eq!(cleaned("a\u{fe0f}\u{20e3}"), "a\u{20e3}");
        assert_eq!(cleaned("a\u{fe0f}"), "a");
        assert_eq!(cleaned("a\u{e0101}\u{e0102}b"), "ab");
    }

    #[test]
    fn tags_stay_only_in_known_flags() {
        let england = "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}";
        assert_eq!(cleaned(england), england);
        assert_eq!(cleaned("🏴\u{e0067}\u{e0062}x"), "🏴x");
        assert_eq!(cleaned("hi\u{e0064}\u{e0065}"), "hi");
    }

    #[test]
    fn signs_that_enclose_the_number_after_them_stay() {
        for sign in "\u{600}\u{605}\u{6dd}\u{70f}\u{890}\u{891}\u{8e2}\u{110bd}\u{110cd}".chars() {
            assert_eq!(cleaned(&format!("a{sign}12")), format!("a{sign}12"));
        }
        assert_eq!(cleaned("a\u{ad}b\u{feff}c\u{2060}d\u{110be}"), "abcd\u{110be}");
    }

    #[test]
    fn undefined_characters_become_visible() {
        assert_eq!(cleaned("a\u{e000}b\u{fffe}c\u{378}d"), "a\u{fffd}b\u{fffd}c\u{fffd}d");
    }

    #[test]
    fn marks_are_capped_after_composing() {
        let tower = format!("e{}", "\u{301}".repeat(20));
        assert_eq!(cleaned(&tower), format!("\u{e9}{}", "\u{301}".repeat(8)));
    }

    #[test]
    fn every_line_end_is_one_newline() {
        assert_eq!(cleaned("a\r\nb\rc\u{2028}d\u{85}e\u{b}f\u{c}g\u{2029}h"), "a\nb\nc\nd\ne\nf\ng\nh");
    }
}
