//! The words around a hit.
//!
//! It must never be longer than a few lines.

use std::collections::BTreeSet;

use super::schema::words;

/// Characters of a snippet.
const CHARS_MAX: usize = 240;

/// The part of a text that holds the most of the words, on one line.
pub(super) fn snippet(text: &str, wanted: &[String]) -> String {
    let wanted: BTreeSet<&str> = wanted.iter().map(String::as_str).collect();
    let tokens: Vec<&str> = text.split_whitespace().collect();
    let hits: Vec<usize> = (0..tokens.len())
        .filter(|n| words(tokens[*n]).iter().any(|word| wanted.contains(word.as_str())))
        .collect();
    // Before the first hit of the densest stretch stand a few words that lead to it.
    let window = 30;
    let within = |from: usize| hits.iter().filter(|hit| (from..from + window).contains(hit)).count();
    let first = hits.iter().copied().max_by_key(|hit| (within(*hit), usize::MAX - hit)).unwrap_or(0);
    let begin = first.saturating_sub(6);
    let mut out = if begin > 0 { "…".to_owned() } else { String::new() };
    let mut length = 0;
    for (n, token) in tokens.iter().enumerate().skip(begin) {
        length += token.chars().count() + 1;
        if length > CHARS_MAX {
            if n == begin {
                out.push_str(&crate::text::cut(token, CHARS_MAX));
            }
            out.push('…');
            break;
        }
        if n > begin {
            out.push(' ');
        }
        out.push_str(token);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_stand_in_the_middle() {
        let text = format!("{}we dropped Redis because{}", "before ".repeat(50), " after".repeat(50));
        let shown = snippet(&text, &["redis".to_owned()]);
        assert!(
            shown.starts_with("…before before") && shown.contains("dropped Redis because after"),
            "{shown}"
        );
        assert!(shown.ends_with('…') && shown.chars().count() <= CHARS_MAX + 2, "{shown}");
        assert_eq!(snippet("short", &["absent".to_owned()]), "short");
        assert!(snippet(&"x".repeat(1000), &[]).chars().count() <= CHARS_MAX + 2);
    }
}
