//! Terminal control sequences: removed whole, payload included, in their 7-bit and their C1 forms.
//! It must never remove more than the rest of a line for a sequence that has no end.

use std::borrow::Cow;

use super::tally::Tally;

const ESC: char = '\u{1b}';
const BEL: char = '\u{7}';
const CAN: char = '\u{18}';
const SUB: char = '\u{1a}';
/// String terminator, C1 form.
const ST: char = '\u{9c}';

/// Removes every sequence (ECMA-48 and xterm's OSC ended by BEL). Single controls are left to `characters`.
pub(super) fn strip<'a>(text: &'a str, tally: &mut Tally) -> Cow<'a, str> {
    if !text.contains(introduces) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(introduces) {
        out.push_str(&rest[..at]);
        rest = after_sequence(&rest[at..]);
        tally.remove("ansi");
    }
    out.push_str(rest);
    Cow::Owned(out)
}

fn introduces(c: char) -> bool {
    matches!(c, ESC | '\u{90}' | '\u{98}' | '\u{9b}' | '\u{9d}'..='\u{9f}')
}

/// The text after the sequence that it starts with.
fn after_sequence(text: &str) -> &str {
    let mut chars = text.chars();
    match chars.next() {
        Some('\u{9b}') => return after_csi(chars.as_str()),
        Some(ESC) => {}
        _ => return after_string(chars.as_str()),
    }
    let after_esc = chars.as_str();
    match chars.next() {
        Some('[') => after_csi(chars.as_str()),
        Some(']' | 'P' | 'X' | '^' | '_') => after_string(chars.as_str()),
        Some(' '..='/') => {
            let body = chars.as_str().trim_start_matches(|c| matches!(c, ' '..='/'));
            body.strip_prefix(|c| matches!(c, '0'..='~')).unwrap_or(body)
        }
        Some('0'..='~') => chars.as_str(),
        _ => after_esc,
    }
}

/// The text after parameters, intermediates and the final character. A character that does not fit ends the
/// sequence and stays.
fn after_csi(text: &str) -> &str {
    let body = text.trim_start_matches(|c| matches!(c, '0'..='?'));
    let body = body.trim_start_matches(|c| matches!(c, ' '..='/'));
    body.strip_prefix(|c| matches!(c, '@'..='~')).unwrap_or(body)
}

/// The text after a control string, which goes to its terminator or else to the end of the line.
fn after_string(text: &str) -> &str {
    let ends = |c| {
        matches!(
            c,
            BEL | ST | ESC | CAN | SUB | '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    };
    let Some(at) = text.find(ends) else { return "" };
    let rest = &text[at..];
    if let Some(after) = rest.strip_prefix("\u{1b}\\") {
        return after;
    }
    // Another ESC begins the next sequence and a line end stays; a terminator belongs to the string.
    rest.strip_prefix([BEL, ST, CAN, SUB]).unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stripped(text: &str) -> (String, u32) {
        let mut tally = Tally::default();
        let out = strip(text, &mut tally).into_owned();
        (out, tally.removed.get("ansi").copied().unwrap_or(0))
    }

    #[test]
    fn sequences_are_removed_whole() {
        assert_eq!(stripped("\u{1b}[2J\u{1b}[8mhidden\u{1b}[0m"), ("hidden".to_owned(), 3));
        assert_eq!(stripped("\u{1b}]8;;http://evil\u{7}ok\u{1b}]8;;\u{7}"), ("ok".to_owned(), 2));
        assert_eq!(stripped("\u{1b}]52;c;aGk=\u{1b}\\"), (String::new(), 1));
        assert_eq!(stripped("a\u{9b}31mb\u{9d}0;title\u{9c}c"), ("abc".to_owned(), 2));
        assert_eq!(stripped("a\u{1b}(Bb\u{1b}cc"), ("abc".to_owned(), 2));
    }

    #[test]
    fn an_unterminated_string_is_removed_to_the_end_of_its_line() {
        assert_eq!(stripped("one\u{1b}Ppayload\ntwo"), ("one\ntwo".to_owned(), 1));
        assert_eq!(stripped("one\u{1b}]payload"), ("one".to_owned(), 1));
        assert_eq!(stripped("\u{1b}"), (String::new(), 1));
        assert_eq!(stripped("\u{1b}[31\u{e9}"), ("\u{e9}".to_owned(), 1));
    }
}
