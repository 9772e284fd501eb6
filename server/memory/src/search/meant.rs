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
