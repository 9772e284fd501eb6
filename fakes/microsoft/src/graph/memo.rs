//! Keeps the text of lists while their content is unchanged, because an idle client asks for them for hours.
//! It must never keep a list that changes with time alone.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use super::rules::RuleId;

/// How many answers are kept; when there would be more, all are dropped.
const ANSWERS_MAX: usize = 64;

/// A part of the world that counts its changes; it can't be changed in any other way.
#[derive(Debug, Clone, Default)]
pub(super) struct Counted<T> {
    value: T,
    changes: u64,
}

impl<T> Counted<T> {
    pub(super) fn new(value: T) -> Self {
        Self { value, changes: 0 }
    }

    /// Counts a change and gives access to the value.
    pub(super) fn change(&mut self) -> &mut T {
        self.changes += 1;
        &mut self.value
    }

    pub(super) fn changes(&self) -> u64 {
        self.changes
    }
}

impl<T> Deref for Counted<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// An answer with the rules that shaped it.
#[derive(Debug, Clone)]
pub(super) struct Told {
    pub(super) text: String,
    pub(super) rules: BTreeSet<RuleId>,
}

/// The answers in one state of the world.
#[derive(Debug, Clone, Default)]
pub(super) struct Memo {
    state: [u64; 2],
    told: BTreeMap<String, Told>,
}

impl Memo {
    /// The answer that was kept for this request in this state. The answers of another state are dropped.
    pub(super) fn find(&mut self, state: [u64; 2], asked: &str) -> Option<&Told> {
        if self.state != state {
            self.state = state;
            self.told.clear();
        }
        self.told.get(asked)
    }

    /// Keeps an answer for the state of the last call of `find`.
    pub(super) fn keep(&mut self, asked: String, told: Told) {
        if self.told.len() >= ANSWERS_MAX {
            self.told.clear();
        }
        self.told.insert(asked, told);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_answer_is_forgotten_with_the_first_change() {
        let mut part = Counted::new(vec![1]);
        let mut memo = Memo::default();
        let told = |text: &str| Told { text: text.to_owned(), rules: BTreeSet::new() };
        assert!(memo.find([part.changes(), 0], "/a").is_none());
        memo.keep("/a".to_owned(), told("one"));
        assert_eq!(memo.find([part.changes(), 0], "/a").map(|told| told.text.as_str()), Some("one"));
        part.change().push(2);
        assert!(memo.find([part.changes(), 0], "/a").is_none());
    }
}
