//! Secrets that bear a vendor's prefix.
//!
//! [`hide_sure`] must never hide an ordinary word: a prefix is in the list only if a vendor gives its secrets that
//! prefix.

use std::borrow::Cow;

use crate::Hidden;

/// A kind of secrets.
struct Vendor {
    prefix: &'static str,
    /// The fewest characters that follow in a secret.
    sure: usize,
    /// The fewest that may be one, for those who rather hide too much.
    possible: usize,
}

const fn vendor(prefix: &'static str, sure: usize, possible: usize) -> Vendor {
    Vendor { prefix, sure, possible }
}

/// By their vendors' documentation.
const VENDORS: &[Vendor] = &[
    vendor("ghp_", 16, 16),
    vendor("gho_", 16, 16),
    vendor("ghu_", 16, 16),
    vendor("ghs_", 16, 16),
    vendor("ghr_", 16, 16),
    vendor("github_pat_", 16, 16),
    vendor("glpat-", 16, 16),
    vendor("sk-ant-", 16, 8),
    vendor("sk-proj-", 16, 8),
    vendor("sk-", 32, 8),
    vendor("xoxa-", 16, 8),
    vendor("xoxb-", 16, 8),
    vendor("xoxe-", 16, 8),
    vendor("xoxp-", 16, 8),
    vendor("xoxr-", 16, 8),
    vendor("xoxs-", 16, 8),
    vendor("xapp-", 16, 16),
    vendor("npm_", 30, 20),
    vendor("pypi-", 32, 32),
    vendor("AKIA", 16, 12),
    vendor("ASIA", 16, 12),
    vendor("AIza", 30, 20),
    vendor("ya29.", 20, 20),
    vendor("hf_", 24, 24),
    // Web tokens: the base64url of `{"`.
    vendor("eyJ", 40, 16),
];

/// Bytes of the shortest secret. Most words of a text are shorter, and are not looked at.
const SHORTEST: usize = {
    let (mut shortest, mut n) = (usize::MAX, 0);
    while n < VENDORS.len() {
        let vendor = &VENDORS[n];
        let least = if vendor.sure < vendor.possible { vendor.sure } else { vendor.possible };
        if vendor.prefix.len() + least < shortest {
            shortest = vendor.prefix.len() + least;
        }
        n += 1;
    }
    shortest
};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Degree {
    Sure,
    Possible,
}

/// Hides the words that are surely secrets.
pub fn hide_sure<'a>(text: &'a str, mask: &str) -> Hidden<'a> {
    hide(text, mask, Degree::Sure)
}

pub(crate) fn hide<'a>(text: &'a str, mask: &str, degree: Degree) -> Hidden<'a> {
    let mut out = String::new();
    let (mut copied, mut at, mut count) = (0, 0, 0);
    while let Some(found) = text[at..].find(is_of_word) {
        let begin = at + found;
        let end = text[begin..].find(|c| !is_of_word(c)).map_or(text.len(), |length| begin + length);
        let is_long = end - begin >= SHORTEST;
        if let Some(secret) = is_long.then(|| secret_in(&text[begin..end], degree)).flatten() {
            out.push_str(&text[copied..begin + secret]);
            out.push_str(mask);
            copied = end;
            count += 1;
        }
        at = end;
    }
    if count == 0 {
        return Hidden { text: Cow::Borrowed(text), count };
    }
    Hidden { text: Cow::Owned(out + &text[copied..]), count }
}

fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// Where a secret begins in a word: at its beginning, or behind a sign where that is enough.
fn secret_in(word: &str, degree: Degree) -> Option<usize> {
    if is_secret(word, degree) {
        return Some(0);
    }
    if degree == Degree::Sure {
        return None;
    }
    let signs = word.match_indices(['-', '.']).map(|(at, _)| at + 1);
    signs.into_iter().find(|begin| is_secret(&word[*begin..], degree))
}

fn is_secret(word: &str, degree: Degree) -> bool {
    VENDORS.iter().any(|vendor| {
        let least = if degree == Degree::Sure { vendor.sure } else { vendor.possible };
        word.strip_prefix(vendor.prefix).is_some_and(|rest| {
            rest.len() >= least && rest.contains(|c: char| c.is_ascii_digit() || c.is_ascii_uppercase())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("use ghp_0123456789abcdefABCDEF now", "use # now")]
    #[case("key=AKIAIOSFODNN7EXAMPLE0", "key=#")]
    #[case("sk-learn and sk-ant-api03-AbCdEf", "sk-learn and sk-ant-api03-AbCdEf")]
    #[case("npm_config_registry_of_the_whole_company", "npm_config_registry_of_the_whole_company")]
    fn a_sure_secret_is_hidden(#[case] text: &str, #[case] hidden: &str) {
        assert_eq!(hide_sure(text, "#").text, hidden);
    }

    #[rstest]
    #[case("sk-ant-api03-AbCdEf", "#")]
    #[case("my-sk-ant-api03-AbCdEf", "my-#")]
    #[case("a task-force-of-8", "a task-force-of-8")]
    fn a_possible_secret_is_hidden(#[case] text: &str, #[case] hidden: &str) {
        assert_eq!(hide(text, "#", Degree::Possible).text, hidden);
    }
}
