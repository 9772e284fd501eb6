//! A set of places in the journal, kept as ranges that join when they touch.
//!
//! A consumer that reads in order needs one range, however long the journal is.

use std::collections::BTreeMap;

/// Disjoint ranges, each from its first to its last place; neighbours are joined.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Intervals {
    ranges: BTreeMap<u64, u64>,
}

impl FromIterator<(u64, u64)> for Intervals {
    fn from_iter<T: IntoIterator<Item = (u64, u64)>>(ranges: T) -> Self {
        let mut places = Self::default();
        ranges.into_iter().for_each(|(from, to)| places.insert(from, to));
        places
    }
}

impl Intervals {
    /// Adds `from..=to`; an empty range adds nothing.
    pub(super) fn insert(&mut self, from: u64, to: u64) {
        if from > to {
            return;
        }
        let (mut from, mut to) = (from, to);
        // Every range that touches the new one begins at or before the place after its end.
        while let Some((&start, &end)) = self.ranges.range(..=to.saturating_add(1)).next_back() {
            if end.saturating_add(1) < from {
                break;
            }
            self.ranges.remove(&start);
            from = from.min(start);
            to = to.max(end);
        }
        self.ranges.insert(from, to);
    }

    /// Removes `from..=to`; an empty range removes nothing.
    pub(super) fn remove(&mut self, from: u64, to: u64) {
        if from > to {
            return;
        }
        // Every range that shares a place with it begins at or before its end.
        while let Some((&start, &end)) = self.ranges.range(..=to).next_back() {
            if end < from {
                break;
            }
            self.ranges.remove(&start);
            if end > to {
                self.ranges.insert(to + 1, end);
            }
            if start < from {
                self.ranges.insert(start, from - 1);
                break;
            }
        }
    }

    /// Its places that are not in another set.
    pub(super) fn without(mut self, others: &Self) -> Self {
        for (from, to) in others.iter() {
            self.remove(from, to);
        }
        self
    }

    pub(super) fn contains(&self, seq: u64) -> bool {
        self.covers(seq, seq)
    }

    /// Whether it holds every place of `from..=to`.
    pub(super) fn covers(&self, from: u64, to: u64) -> bool {
        from > to || self.ranges.range(..=from).next_back().is_some_and(|(_, &end)| end >= to)
    }

    /// The place up to which it holds all places from the first on; 0 when it does not hold the first.
    pub(super) fn through(&self) -> u64 {
        self.ranges.range(..=1).next_back().map_or(0, |(_, &end)| end)
    }

    /// The last place in it; 0 when empty.
    pub(super) fn last(&self) -> u64 {
        self.ranges.last_key_value().map_or(0, |(_, &end)| end)
    }

    /// Its ranges in order, first and last place of each.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> + '_ {
        self.ranges.iter().map(|(&from, &to)| (from, to))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn neighbours_join() {
        let mut set = Intervals::default();
        set.insert(5, 6);
        set.insert(1, 3);
        assert_eq!(set.through(), 3);
        set.insert(4, 4);
        assert_eq!(set.iter().collect::<Vec<_>>(), [(1, 6)]);
        set.insert(9, 8);
        assert_eq!(set.last(), 6);
    }

    proptest! {
        #[test]
        fn it_is_a_set(
            ranges in prop::collection::vec((0_u64..60, 0_u64..12, prop::bool::weighted(0.3)), 0..20),
        ) {
            let mut set = Intervals::default();
            let mut model = BTreeSet::new();
            for (from, len, removes) in ranges {
                if removes {
                    set.remove(from, from + len);
                    model.retain(|seq| !(from..=from + len).contains(seq));
                } else {
                    set.insert(from, from + len);
                    model.extend(from..=from + len);
                }
            }
            for seq in 0..100 {
                prop_assert_eq!(set.contains(seq), model.contains(&seq));
            }
            prop_assert_eq!(set.last(), model.last().copied().unwrap_or(0));
            let through = (1..100).take_while(|seq| model.contains(seq)).last().unwrap_or(0);
            prop_assert_eq!(set.through(), through);
            let ends: Vec<_> = set.iter().collect();
            prop_assert!(ends.windows(2).all(|pair| pair[0].1 + 1 < pair[1].0), "{ends:?}");
        }
    }
}
