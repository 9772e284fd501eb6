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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swapped_pair_of_letters_is_near() {
        assert_eq!(nearest("wriet", ["write", "advance"]), Some("write"));
        assert_eq!(nearest("quantum", ["write", "advance"]), None);
    }
}
