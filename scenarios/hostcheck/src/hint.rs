//! Finds the known word that the user may have meant.

/// The known word that is nearest to `word`, if it is near enough.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|candidate| (strsim::osa_distance(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len().max(word.len()).div_ceil(3))
        .min()
        .map(|(_, candidate)| candidate)
}

/// A hint for a mistyped word: the nearest known one, or else `otherwise`.
pub fn or_else<'a>(word: &str, known: impl IntoIterator<Item = &'a str>, otherwise: &str) -> String {
    nearest(word, known).map_or_else(|| otherwise.to_owned(), |best| format!("did you mean `{best}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swapped_pair_of_letters_is_near() {
        assert_eq!(nearest("wriet", ["write", "advance"]), Some("write"));
        assert_eq!(nearest("quantum", ["write", "advance"]), None);
    }
}
