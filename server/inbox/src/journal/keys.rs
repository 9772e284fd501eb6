//! The newest dedup keys, as hashes in bounded memory.
//!
//! Keys hold ids that strangers choose, so the hash must be one for which no collision can be made: such a
//! collision would let one person's message hide another's.

use std::collections::{BTreeSet, VecDeque};

use sha2::{Digest, Sha256};

/// A key's hash.
pub(super) type KeyHash = [u8; 16];

/// Hashes a key.
pub(super) fn hash(key: &str) -> KeyHash {
    let digest = Sha256::digest(key.as_bytes());
    std::array::from_fn(|at| digest[at])
}

/// A set that forgets its oldest member when it is full.
#[derive(Debug, Default)]
pub(super) struct Keys {
    known: BTreeSet<KeyHash>,
    order: VecDeque<KeyHash>,
    members_max: usize,
}

impl Keys {
    /// An empty set with a bound.
    pub(super) fn new(members_max: usize) -> Self {
        Self { members_max: members_max.max(1), ..Self::default() }
    }

    /// Adds a key; false when it was there.
    pub(super) fn insert(&mut self, key: KeyHash) -> bool {
        if !self.known.insert(key) {
            return false;
        }
        self.order.push_back(key);
        if self.order.len() > self.members_max
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        true
    }

    /// Whether a key is there.
    pub(super) fn contains(&self, key: &KeyHash) -> bool {
        self.known.contains(key)
    }

    /// Removes a key, so that the same message can come again.
    pub(super) fn forget(&mut self, key: &KeyHash) {
        if self.known.remove(key) {
            self.order.retain(|known| known != key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_forgotten() {
        let mut keys = Keys::new(2);
        for key in ["a", "b", "c"] {
            assert!(keys.insert(hash(key)));
        }
        assert!(!keys.insert(hash("c")));
        assert!(keys.insert(hash("a")), "it fell out");
        keys.forget(&hash("a"));
        assert!(keys.insert(hash("a")));
    }
}
