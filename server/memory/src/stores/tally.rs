//! Counts what a reader did not understand, by name, so that `doctor` can tell of a store that has changed.
//!
//! It must never hold a text of a session: a name is cut, cleaned and bounded in number.

use std::collections::BTreeMap;

use crate::text;

/// Most names that are counted on their own; the rest is counted together.
const NAMES_MAX: usize = 64;
/// Longest name, in characters.
const NAME_CHARS_MAX: usize = 48;
/// What stands for all further names.
const MORE: &str = "…";

/// What was not understood.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Records of an unknown kind, by the name of the kind.
    pub unknown: BTreeMap<String, u64>,
    /// Lines that are no JSON object, or have no kind.
    pub malformed: u64,
    /// Lines that are longer than a reader takes.
    pub too_long: u64,
}

impl Tally {
    /// Counts a record of an unknown kind.
    pub fn count_unknown(&mut self, kind: &str) {
        let name = text::safe_line(kind, NAME_CHARS_MAX);
        let is_known = self.unknown.contains_key(&name);
        let name = if is_known || self.unknown.len() < NAMES_MAX { name } else { MORE.to_owned() };
        *self.unknown.entry(name).or_default() += 1;
    }

    /// Adds another tally.
    pub fn add(&mut self, other: &Self) {
        for (name, count) in &other.unknown {
            let is_known = self.unknown.contains_key(name);
            let name = if is_known || self.unknown.len() < NAMES_MAX { name } else { MORE };
            *self.unknown.entry(name.to_owned()).or_default() += count;
        }
        self.malformed += other.malformed;
        self.too_long += other.too_long;
    }

    /// Whether everything was understood.
    pub fn is_empty(&self) -> bool {
        self.unknown.is_empty() && self.malformed == 0 && self.too_long == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_bounded_in_number_and_length() {
        let mut tally = Tally::default();
        for n in 0..1000 {
            tally.count_unknown(&format!("kind-{n}-{}", "x".repeat(n)));
        }
        assert_eq!(tally.unknown.len(), NAMES_MAX + 1);
        assert_eq!(tally.unknown.values().sum::<u64>(), 1000);
        assert!(tally.unknown.keys().all(|name| name.chars().count() <= NAME_CHARS_MAX));
    }
    #[test]
    fn a_name_that_is_counted_already_stays_counted_on_its_own() {
        let counted = |from: usize| {
            let mut tally = Tally::default();
            (from..from + NAMES_MAX).for_each(|n| tally.count_unknown(&format!("kind-{n}")));
            tally
        };
        let mut tally = counted(0);
        assert!(!tally.unknown.contains_key(MORE), "as many as there may be");
        tally.count_unknown("kind-0");
        tally.count_unknown("other");
        assert_eq!((tally.unknown["kind-0"], tally.unknown[MORE]), (2, 1));
        let mut both = counted(0);
        both.add(&counted(1));
        assert_eq!((both.unknown["kind-0"], both.unknown["kind-1"], both.unknown[MORE]), (1, 2, 1));
    }

    #[test]
    fn a_sum_has_what_both_have_and_is_empty_only_if_both_are() {
        let of = |malformed, too_long| Tally { malformed, too_long, ..Tally::default() };
        let mut sum = of(2, 3);
        sum.add(&of(5, 7));
        assert_eq!((sum.malformed, sum.too_long), (7, 10));
        let mut named = Tally::default();
        named.count_unknown("kind");
        assert!(Tally::default().is_empty());
        assert!(!of(1, 0).is_empty() && !of(0, 1).is_empty() && !named.is_empty());
    }
}
