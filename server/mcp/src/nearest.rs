//! The nearest known word to a mistyped one. It must never suggest something that merely starts alike.

/// The closest of `known`, if at most a third of its letters differ.
pub fn nearest<'a, S: AsRef<str>>(word: &str, known: &'a [S]) -> Option<&'a str> {
    let best = known.iter().map(AsRef::as_ref).map(|name| (distance(word, name), name)).min()?;
    (best.0 <= best.1.chars().count().div_ceil(3)).then_some(best.1)
}

/// Longest word that is compared, in characters; a longer one is nobody's typing error.
const WORD_CHARS_MAX: usize = 64;

fn distance(a: &str, b: &str) -> usize {
    if a.chars().nth(WORD_CHARS_MAX).is_some() {
        return usize::MAX;
    }
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = (diagonal + usize::from(x != *y)).min(above + 1).min(row[j] + 1);
            diagonal = above;
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_errors_are_recognised_and_other_words_are_not() {
        let known = ["timeout_s", "max_items"];
        assert_eq!(nearest("timeout", &known), Some("timeout_s"));
        assert_eq!(nearest("maxItems", &known), Some("max_items"));
        assert_eq!(nearest("channel", &known), None);
        assert_eq!(nearest(&"x".repeat(100_000), &known), None);
        assert_eq!(nearest::<&str>("x", &[]), None);
    }
}
