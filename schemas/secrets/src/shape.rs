//! Secrets by where they stand: behind a name, in an address, in a header, between the lines of a key.
//!
//! It rather hides too much than too little, so it must never be used where a lost word does harm.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::Hidden;
use crate::name::{Secrecy, secrecy};
use crate::vendor::{Degree, hide};

/// Shapes of secrets; the text of the group `s` is hidden.
static SHAPES: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    [
        // JSON Web Tokens and JSON Web Encryption, also without their last parts.
        r"\b(?P<s>eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)*)",
        // Refresh tokens of Entra.
        r"\b(?P<s>[01]\.A[A-Za-z0-9_-]{30,}(?:\.[A-Za-z0-9_-]*)*)",
        // Client secrets of Entra.
        r"(?P<s>[A-Za-z0-9_.~-]{3}[0-9]Q~[A-Za-z0-9_.~-]{20,})",
        r"(?i)\bbearer\s+(?P<s>[A-Za-z0-9._~+/=-]{6,})",
        r#"(?i)\b(?:proxy-)?authorization["'\\]*\s*[:=]\s*["'\\]*(?P<s>[^"'\\\r\n]{4,})"#,
        r#"(?i)\bcookie["'\\]*\s*:\s*["'\\]*(?P<s>[^"'\\\r\n]{4,})"#,
        r#"://[^/\s:@"']+:(?P<s>[^/\s@"']+)@"#,
        r#"[?&](?:code|sig|signature|key)=(?P<s>[^&\s"'<>\\]+)"#,
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?P<s>(?s:.)*?)(?:-----END|\z)",
        r"(?i)--[a-z0-9-]*(?:token|secret|password|passphrase|api-?key)[a-z0-9-]*\s+(?P<s>[^\s-]\S*)",
    ]
    .iter()
    .filter_map(|pattern| Regex::new(pattern).ok())
    .collect()
});

/// `name: value` and `name=value`, with any quotes. The beginning of the name is found by hand, so that a
/// search stays linear.
static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?i)(?P<k>(?:token|secret|passw(?:or)?d|passphrase|api[_-]?key|private[_-]?key|ac(?:count|cess)[_-]?key|credential|assertion)[A-Za-z0-9_.-]*)["'\\]*\s*[:=]\s*(?:\\*"(?P<a>(?:[^"\\]|\\[^"])+)|'(?P<b>[^']+)|(?P<c>[^\s"'\\,;&<>{}\[\]][^\s"\\,;&<>{}\[\]]*))"#,
    )
    .ok()
});

/// Hides all that may be a secret.
pub fn hide_possible<'a>(text: &'a str, mask: &str) -> Hidden<'a> {
    let Hidden { mut text, mut count } = hide(text, mask, Degree::Possible);
    for shape in SHAPES.iter() {
        if let Some(masked) = replace(shape, &text, mask, &["s"], &mut count, |_| true) {
            text = Cow::Owned(masked);
        }
    }
    if let Some(named) = NAMED.as_ref() {
        let secret = |found: &Captures<'_>| is_secret_pair(&text, found);
        if let Some(masked) = replace(named, &text, mask, &["a", "b", "c"], &mut count, secret) {
            text = Cow::Owned(masked);
        }
    }
    Hidden { text, count }
}

/// Replaces the matches of one of the groups; `None` if there are none.
fn replace(
    pattern: &Regex,
    text: &str,
    mask: &str,
    groups: &[&str],
    count: &mut u32,
    secret: impl Fn(&Captures<'_>) -> bool,
) -> Option<String> {
    let mut masked = String::new();
    let mut done = 0;
    for found in pattern.captures_iter(text) {
        let span = groups.iter().find_map(|group| found.name(group));
        // A mask has been put here before.
        let is_hidden = |span: &str| span.trim() == mask || mask.starts_with(span);
        let Some(span) = span.filter(|span| !span.is_empty() && !is_hidden(span.as_str())) else { continue };
        if secret(&found) {
            masked.push_str(&text[done..span.start()]);
            masked.push_str(mask);
            done = span.end();
            *count += 1;
        }
    }
    if done == 0 {
        return None;
    }
    masked.push_str(&text[done..]);
    Some(masked)
}

/// Whether `name: value` in a text is a secret; counts and absent values are not.
fn is_secret_pair(text: &str, found: &Captures<'_>) -> bool {
    let Some(name) = found.name("k") else { return false };
    let before = text[..name.start()]
        .char_indices()
        .rev()
        .take_while(|(_, letter)| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.'));
    let start = before.last().map_or(name.start(), |(at, _)| at);
    let value = found.name("a").or_else(|| found.name("b")).or_else(|| found.name("c"));
    let value = value.map_or("", |value| value.as_str());
    match secrecy(&text[start..name.end()]) {
        Secrecy::Open => false,
        Secrecy::Texts => {
            value.parse::<f64>().is_err() && !matches!(value, "null" | "true" | "false" | "none" | "None")
        }
        Secrecy::All => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("Authorization: Bearer abcdefgh.ijk", "Authorization: ***")]
    #[case("got eyJhbGciOiJub25lIn0.eyJzdWIiOiJBbGljZSJ9.c2ln now", "got *** now")]
    #[case("client_secret=abc~def&grant_type=x", "client_secret=***&grant_type=x")]
    #[case("https://alice:hunter2@contoso.com/", "https://alice:***@contoso.com/")]
    #[case("max_tokens: 4096, tokens=12", "max_tokens: 4096, tokens=12")]
    #[case("xyz8Q~abcdefghijklmnopqrstuvwxyz0123456", "***")]
    #[case("AccountName=a;AccountKey=abc/def+0==;x=y", "AccountName=a;AccountKey=***;x=y")]
    #[case("SharedAccessKeyName=root;SharedAccessKey=abc=", "SharedAccessKeyName=root;SharedAccessKey=***")]
    #[case("a task-force-of-eight", "a task-force-of-eight")]
    fn secrets_are_hidden_where_they_stand(#[case] text: &str, #[case] wanted: &str) {
        let hidden = hide_possible(text, "***");
        assert_eq!(hidden.text, wanted);
        assert_eq!(hidden.count > 0, text != wanted);
        assert_eq!(hide_possible(&hidden.text, "***").text, wanted, "what is hidden stays");
    }
}
