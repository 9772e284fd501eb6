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
}
