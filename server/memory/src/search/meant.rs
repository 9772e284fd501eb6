//! How close a sentence comes to the words of a query that it lacks, by what its other words mean.
//!
//! Two neighbours are taken together, as a thing is often named by two words. It must never count a word of the query.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::ask::Ask;
use super::grammar::is_of_grammar;
use crate::meanings::{Meanings, dot, unit};

/// What the words of a query mean.
pub(super) struct Meant<'a> {
    meanings: &'a Meanings,
    wanted: Vec<Vec<f32>>,
    /// Where words of texts point.
    words: RefCell<BTreeMap<String, Rc<[f32]>>>,
    /// Where words of the query point together, by their bits.
    together: RefCell<BTreeMap<u32, Rc<[f32]>>>,
}

impl<'a> Meant<'a> {
    pub(super) fn new(meanings: &'a Meanings, ask: &Ask) -> Self {
        Self {
            meanings,
            wanted: ask.wanted.iter().map(|wanted| meanings.vector(&wanted.word)).collect(),
            words: RefCell::default(),
            together: RefCell::default(),
        }
    }

    /// How close two neighbours among other words come to the words of these bits: from 1 for the same down to 0.
    pub(super) fn closeness(&self, lacking: u32, others: &[&str]) -> f32 {
        let target = self.together(lacking);
        let vectors: Vec<Rc<[f32]>> = others.iter().filter_map(|word| self.word(word)).collect();
        let pairs = vectors.windows(2).map(|pair| {
            let length = (2.0 + 2.0 * dot(&pair[0], &pair[1])).max(f32::MIN_POSITIVE).sqrt();
            (dot(&pair[0], &target) + dot(&pair[1], &target)) / length
        });
        let best = match &vectors[..] {
            [alone] => dot(alone, &target),
            _ => pairs.fold(0.0, f32::max),
        };
        best.clamp(0.0, 1.0)
    }

    /// Where a word points; `None` for one of grammar.
    fn word(&self, word: &str) -> Option<Rc<[f32]>> {
        let word = word.to_lowercase();
        if is_of_grammar(&word) {
            return None;
        }
        let mut words = self.words.borrow_mut();
        if let Some(vector) = words.get(&word) {
            return Some(Rc::clone(vector));
        }
        let vector: Rc<[f32]> = self.meanings.vector(&word).into();
        words.insert(word, Rc::clone(&vector));
        Some(vector)
    }

    fn together(&self, bits: u32) -> Rc<[f32]> {
        let mut together = self.together.borrow_mut();
        let vector = together.entry(bits).or_insert_with(|| {
            let wanted = self.wanted.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1);
            let sum = wanted.fold(Vec::new(), |mut sum: Vec<f32>, (_, vector)| {
                sum.resize(vector.len(), 0.0);
                sum.iter_mut().zip(vector).for_each(|(sum, number)| *sum += number);
                sum
            });
            unit(sum).into()
        });
        Rc::clone(vector)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use entraclaw_seams::clock::SystemClock;
    use entraclaw_seams::storage::MemoryStorage;
    use half::f16;
    use rstest::rstest;

    use super::super::ask::Wanted;
    use super::*;
    use crate::files::SimulatedFiles;

    /// A table in which the words `x`, `y`, `z` and `w` point to a side, to another one, between both, and back.
    fn meanings() -> Meanings {
        let numbers: Vec<u8> = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [-1.0, 0.0_f32]]
            .iter()
            .flatten()
            .flat_map(|number| f16::from_f32(*number).to_le_bytes())
            .collect();
        let header =
            format!(r#"{{"t":{{"dtype":"F16","shape":[5,2],"data_offsets":[0,{}]}}}}"#, numbers.len());
        let table = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &numbers].concat();
        let pieces = r#"{"model": {"vocab": {"▁": 0, "x": 1, "y": 2, "z": 3, "w": 4}, "merges": []}}"#;
        let storage = MemoryStorage::new();
        storage.set_bytes("t/weights/l2_supercat_256.safetensors", &table);
        storage.set_bytes("t/tokenizers/l2_supercat_tokenizer_config.json", pieces.as_bytes());
        let files = SimulatedFiles::new(storage, Arc::new(SystemClock));
        Meanings::read(&files, Path::new("/t")).unwrap()
    }

    #[rstest]
    #[case::nothing(0b01, &[], 0.0)]
    #[case::the_same(0b01, &["x"], 1.0)]
    #[case::in_capitals(0b01, &["X"], 1.0)]
    #[case::near(0b01, &["z"], 0.6)]
    #[case::something_else(0b01, &["y"], 0.0)]
    #[case::the_opposite(0b01, &["w"], 0.0)]
    #[case::a_word_that_is_not_known(0b01, &["q"], 0.0)]
    #[case::two_neighbours(0b01, &["x", "y"], 0.707)]
    #[case::twice_the_same(0b01, &["z", "z"], 0.6)]
    #[case::neighbours_that_agree(0b01, &["x", "z"], 0.894)]
    #[case::neighbours_that_contradict(0b01, &["x", "w"], 0.0)]
    #[case::the_best_neighbours(0b01, &["y", "y", "x", "x", "y"], 1.0)]
    #[case::a_word_of_grammar_between(0b01, &["x", "the", "x"], 1.0)]
    #[case::beside_a_word_of_grammar(0b01, &["the", "z"], 0.6)]
    #[case::two_words_that_are_lacking(0b11, &["x", "y"], 1.0)]
    #[case::one_of_two(0b11, &["x"], 0.707)]
    #[case::the_other_word(0b10, &["y"], 1.0)]
    fn neighbours_come_close_to_what_they_mean_together(
        #[case] lacking: u32,
        #[case] others: &[&str],
        #[case] expected: f32,
    ) {
        let meanings = meanings();
        let wanted = ["x", "y"].map(|word| Wanted::new(word.to_owned(), word.to_owned()));
        let meant = Meant::new(&meanings, &Ask { wanted: wanted.into(), ..Ask::default() });
        for _ in 0..2 {
            let found = meant.closeness(lacking, others);
            assert!((found - expected).abs() < 1e-2, "{found}");
        }
    }
}
