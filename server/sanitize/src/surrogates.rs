//! Halves of surrogate pairs in JSON, which strict readers refuse: programs that cut UTF-16 at a length leave them.
//!
//! It must never change JSON that a strict reader takes.

/// The replacement for half a pair.
const REPLACEMENT: &str = "\\ufffd";

/// JSON, or a string of it, in which each half of a surrogate pair that has no other half is U+FFFD.
pub fn mended(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let unit = unit(escape);
        let len = match unit {
            Some(0xd800..0xdc00) if matches!(escape.get(6..).and_then(self::unit), Some(0xdc00..0xe000)) => {
                12
            }
            Some(_) => 6,
            // This is a short escape, and its second character may be a backslash too.
            None => 2,
        };
        let (escape, after) = escape.split_at_checked(len).unwrap_or((escape, ""));
        let alone = len == 6 && unit.is_some_and(|unit| (0xd800..0xe000).contains(&unit));
        out.push_str(if alone { REPLACEMENT } else { escape });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// The UTF-16 unit of the escape at the start of the text.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::mended;

    #[rstest]
    #[case::the_first_half(r#"{"a":"x\ud83d"}"#, r#"{"a":"x\ufffd"}"#)]
    #[case::the_second_half(r#"["\uDC00","\u0041"]"#, r#"["\ufffd","\u0041"]"#)]
    #[case::a_pair(r#""\ud83d\ude00""#, r#""\ud83d\ude00""#)]
    #[case::two_first_halves_and_a_second(r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#)]
    #[case::letters_behind_a_backslash(r#""\\ud83d""#, r#""\\ud83d""#)]
    #[case::cut(r#""\ud8"#, r#""\ud8"#)]
    fn half_a_pair_is_replaced_and_a_whole_one_stays(#[case] json: &str, #[case] expected: &str) {
        assert_eq!(mended(json), expected);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[\\\\u0-9d8c\"é]{0,40}") {
            mended(&text);
        }
    }
}
