//! The form of an answer: `yes CODE` or `no CODE`, and no other text. It must never find an answer inside a
//! sentence.

use unicode_normalization::UnicodeNormalization as _;

use super::Behavior;

/// Length of a code, in letters.
pub const CODE_CHARS: usize = 5;
/// The longest text that is read as an answer, in bytes.
const TEXT_BYTES_MAX: usize = 256;

/// Whether a host's request id has the documented form: five letters a to z without l.
pub fn is_code(text: &str) -> bool {
    text.len() == CODE_CHARS && text.bytes().all(|b| b.is_ascii_lowercase() && b != b'l')
}

/// Reads an answer: the code in lower case, and the verdict. Full-width and half-width letters count as plain
/// ones.
pub fn parse(text: &str) -> Option<(String, Behavior)> {
    if text.len() > TEXT_BYTES_MAX {
        return None;
    }
    let plain: String = text.nfkc().map(|c| c.to_ascii_lowercase()).collect();
    let mut words = plain.split_whitespace();
    let behavior = match words.next()? {
        "y" | "yes" => Behavior::Allow,
        "n" | "no" => Behavior::Deny,
        _ => return None,
    };
    let code = words.next().filter(|code| is_code(code))?;
    words.next().is_none().then(|| (code.to_owned(), behavior))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("yes abcde", Some(Behavior::Allow))]
    #[case("y abcde", Some(Behavior::Allow))]
    #[case("  YES\u{a0}ABCDE \n", Some(Behavior::Allow))]
    #[case("no abcde", Some(Behavior::Deny))]
    #[case("N abcde", Some(Behavior::Deny))]
    #[case("ｙｅｓ ａｂｃｄｅ", Some(Behavior::Allow))]
    #[case("yes abcde.", None)]
    #[case("yes, abcde", None)]
    #[case("> yes abcde", None)]
    #[case("he said: yes abcde", None)]
    #[case("yes abcde please", None)]
    #[case("yesabcde", None)]
    #[case("yes abcle", None)]
    #[case("yes abcd", None)]
    #[case("yes abcdef", None)]
    #[case("yes", None)]
    #[case("abcde yes", None)]
    #[case("yеs abcde", None)]
    #[case("", None)]
    fn only_the_exact_form_is_an_answer(#[case] text: &str, #[case] behavior: Option<Behavior>) {
        assert_eq!(parse(text), behavior.map(|b| ("abcde".to_owned(), b)));
    }

    proptest::proptest! {
        #[test]
        fn whatever_is_an_answer_has_two_words(text in "\\PC{0,40}|(y|n|yes|no|YES) {1,3}[a-m]{4,6} ?") {
            if let Some((code, _)) = parse(&text) {
                proptest::prop_assert!(is_code(&code));
                proptest::prop_assert_eq!(text.split_whitespace().count(), 2);
            }
        }
    }
}
