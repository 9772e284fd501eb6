//! The nearest known word to a mistyped one, for every hint of this program.
//! It must never suggest something that merely starts alike.

/// Longest word that is compared, in characters; a longer one is nobody's typing error.
const WORD_CHARS_MAX: usize = 64;

/// The closest of `known`, if at most a third of its letters differ; ties go to the first. Letters that have changed places
/// count once, and capitals count as small letters.
pub fn nearest<'a, S: AsRef<str>>(word: &str, known: &'a [S]) -> Option<&'a str> {
    let letters = |name: &str| name.chars().count();
    let near = known.iter().map(AsRef::as_ref).map(|name| (distance(word, name), name));
    let best = near.min_by_key(|(distance, _)| *distance)?;
    (best.0 <= letters(best.1).div_ceil(3) && best.0 < letters(best.1)).then_some(best.1)
}

/// How many letters have to be added, left out, replaced or swapped to make one word of the other.
pub fn distance(a: &str, b: &str) -> usize {
    if [a, b].iter().any(|word| word.chars().nth(WORD_CHARS_MAX).is_some()) {
        return usize::MAX;
    }
    strsim::osa_distance(&a.to_lowercase(), &b.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_errors_are_recognised_and_other_words_are_not() {
        let known = ["timeout_s", "max_items"];
        assert_eq!(nearest("timeout", &known), Some("timeout_s"));
        assert_eq!(nearest("maxItems", &known), Some("max_items"));
        assert_eq!(nearest("MAX_ITEMS", &known), Some("max_items"));
        assert_eq!(nearest("channel", &known), None);
        assert_eq!(nearest(&"x".repeat(100_000), &known), None);
        assert_eq!(nearest::<&str>("x", &[]), None);
    }

    #[test]
    fn a_short_word_is_near_only_to_what_shares_most_of_it() {
        let known = ["auth", "bot", "mail", "teams"];
        assert_eq!(nearest("zzz", &known), None);
        assert_eq!(nearest("bto", &known), Some("bot"), "two letters that have changed places are one error");
        assert_eq!(nearest("mial", &known), Some("mail"));
        assert_eq!(nearest("z", &["x"]), None);
    }
}
