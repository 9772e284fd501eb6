//! Finds the known word that is nearest to a mistyped one, for the hints of this program.
//! It must never suggest a word that only has the same beginning.

/// Longest word that is compared, in characters; a longer one is no typing error.
const WORD_CHARS_MAX: usize = 64;

/// The closest of `known`, if at most a third of its letters differ; of several, the first. Two exchanged letters count
/// once, and case is ignored.
pub fn nearest<'a, S: AsRef<str>>(word: &str, known: &'a [S]) -> Option<&'a str> {
    let letters = |name: &str| name.chars().count();
    let near = known.iter().map(AsRef::as_ref).map(|name| (distance(word, name), name));
    let best = near.min_by_key(|(distance, _)| *distance)?;
    (best.0 <= letters(best.1).div_ceil(3) && best.0 < letters(best.1)).then_some(best.1)
}

/// The number of letters to add, leave out, replace or exchange to turn one word into the other.
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
    fn a_short_word_is_near_only_to_one_with_most_of_its_letters() {
        let known = ["auth", "bot", "mail", "teams"];
        assert_eq!(nearest("zzz", &known), None);
        assert_eq!(nearest("bto", &known), Some("bot"), "two exchanged letters are one error");
        assert_eq!(nearest("mial", &known), Some("mail"));
        assert_eq!(nearest("z", &["x"]), None);
    }
}
