//! What was said since the last commit of the index, so that a query finds it without one.
//!
//! It must never grow beyond what a scan of a few milliseconds reads.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::schema::words;
use crate::stores::Message;

/// Messages that are held; more are committed.
pub(super) const MESSAGES_MAX: usize = 500;
/// The usual parameters of BM25, as the index has them.
const K1: f32 = 1.2;
const B: f32 = 0.75;
/// Words of an average message, where the index is empty.
const AVERAGE_WORDS: f32 = 100.0;

/// A message that is not committed yet.
#[derive(Debug, Clone)]
pub(super) struct Fresh {
    pub(super) file: u64,
    pub(super) message: Message,
    /// Counted when the first query looks at it: most messages are committed before.
    counts: OnceLock<Counts>,
}

#[derive(Debug, Clone, Default)]
struct Counts {
    words: BTreeMap<String, u32>,
    length: u32,
}

impl Fresh {
    pub(super) fn new(file: u64, message: Message) -> Self {
        Self { file, message, counts: OnceLock::new() }
    }

    fn counts(&self) -> &Counts {
        self.counts.get_or_init(|| {
            let mut counts = Counts::default();
            for word in words(&self.message.text) {
                *counts.words.entry(word).or_default() += 1;
                counts.length += 1;
            }
            counts
        })
    }

    /// How well it answers a query, by the weights of its words; `None` if it has none of them.
    #[expect(clippy::cast_precision_loss, reason = "counts of words in a message")]
    pub(super) fn score(&self, weights: &[(String, f32)]) -> Option<f32> {
        let counts = self.counts();
        let mut score = 0.0;
        for (word, weight) in weights {
            let count = counts.words.get(word).copied().unwrap_or(0) as f32;
            if count > 0.0 {
                let norm = K1 * (1.0 - B + B * counts.length as f32 / AVERAGE_WORDS);
                score += weight * count * (K1 + 1.0) / (count + norm);
            }
        }
        (score > 0.0).then_some(score)
    }
}
