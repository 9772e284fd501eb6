//! What a word without quotes means, by the core schema of YAML 1.2 and the booleans of YAML 1.1. Pure.
//! Source: <https://yaml.org/spec/1.2.2/#103-core-schema>, <https://yaml.org/type/bool.html>.

/// The meaning of a word.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Meaning {
    Null,
    Bool(bool),
    /// A whole number that is not negative.
    Whole(u64),
    /// A negative one.
    Negative(i64),
    Float(f64),
    Text,
}

pub(crate) fn meaning(word: &str) -> Meaning {
    let is = |words: &[&str]| words.iter().any(|one| word.eq_ignore_ascii_case(one));
    if word.is_empty() || word == "~" || is(&["null"]) {
        Meaning::Null
    } else if is(&["true", "yes", "y", "on"]) {
        Meaning::Bool(true)
    } else if is(&["false", "no", "n", "off"]) {
        Meaning::Bool(false)
    } else {
        number(word).unwrap_or(Meaning::Text)
    }
}

fn number(word: &str) -> Option<Meaning> {
    let (is_negative, digits) = match word.as_bytes().first()? {
        b'-' => (true, &word[1..]),
        b'+' => (false, &word[1..]),
        _ => (false, word),
    };
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(digits) = digits.strip_prefix(prefix) {
            return u64::from_str_radix(digits, radix).ok().filter(|_| !is_negative).map(Meaning::Whole);
        }
    }
    if digits.eq_ignore_ascii_case(".inf") {
        return Some(Meaning::Float(if is_negative { f64::NEG_INFINITY } else { f64::INFINITY }));
    }
    if word.eq_ignore_ascii_case(".nan") {
        return Some(Meaning::Float(f64::NAN));
    }
    let is_number = digits.starts_with(|first: char| first.is_ascii_digit() || first == '.')
        && digits.contains(|digit: char| digit.is_ascii_digit())
        && digits.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
    // A number with a leading zero is octal to some readers and decimal to others, so it is text.
    let has_leading_zero = digits.len() > 1 && digits.bytes().take(2).all(|byte| byte.is_ascii_digit());
    if !is_number || (has_leading_zero && digits.starts_with('0')) {
        return None;
    }
    let whole = if is_negative { word.parse().ok().map(Meaning::Negative) } else { None };
    let whole = whole.or_else(|| digits.parse().ok().filter(|_| !is_negative).map(Meaning::Whole));
    // A number that is too large for a float is not infinite.
    whole.or_else(|| word.parse().ok().filter(|number: &f64| number.is_finite()).map(Meaning::Float))
}
