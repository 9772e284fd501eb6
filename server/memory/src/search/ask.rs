//! What a query asks for: its words with their weights, the words near to them, and its phrases.
//!
//! It must never take a word for another one while the word itself is found.

use std::collections::BTreeSet;

use tantivy::Term;
use tantivy::query::FuzzyTermQuery;

use super::grammar::is_of_grammar;
use super::hint::Hint;
use super::kin::kin;
use super::memory::Memory;
use super::parts::MemoryError;
use super::schema::{stems, words};
use super::weights::{FOCUS, GRAMMAR, LIGHT};

/// Most words of a query.
const WORDS_MAX: usize = 32;
/// A word that at most so many pages have is also looked for with a typing error.
const FEW: u64 = 2;
/// Shortest word in which a typing error is looked for, and the shortest one in which two are.
const ONE_ERROR_CHARS: usize = 4;
const TWO_ERRORS_CHARS: usize = 8;
/// Most words that are taken for one that is not found.
const NEAR_MAX: usize = 3;
/// Words of the index that are looked at for one that is not found.
const LOOKED_AT_MAX: usize = 2000;

/// A word of a query.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wanted {
    pub(super) word: String,
    pub(super) stem: String,
    /// Stems that differ from it by a typing error.
    pub(super) near: Vec<String>,
    /// Stems of other words of its family.
    pub(super) kin: Vec<String>,
    /// Whether it only holds a sentence together.
    pub(super) is_of_grammar: bool,
    /// Whether the next word of the query follows it at once and neither is of grammar, as in a name of two words.
    pub(super) is_joined: bool,
    /// How much it tells, by how few pages have it.
    pub(super) weight: f32,
}

/// A query.
#[derive(Debug, Clone, Default)]
pub(super) struct Ask {
    pub(super) wanted: Vec<Wanted>,
    /// Words that must stand together.
    pub(super) phrases: Vec<Vec<String>>,
    /// What the answer is expected to have.
    pub(super) hint: Option<Hint>,
}

impl Wanted {
    pub(super) fn new(word: String, stem: String) -> Self {
        let is_of_grammar = is_of_grammar(&word);
        Self { word, stem, near: Vec::new(), kin: Vec::new(), is_of_grammar, is_joined: false, weight: 0.0 }
    }
}

impl Ask {
    /// The bits of the words of all phrases, as a page must have them.
    pub(super) fn phrase_mask(&self) -> u32 {
        let is_in_phrase = |wanted: &Wanted| self.phrases.iter().any(|phrase| phrase.contains(&wanted.word));
        let bits = self.wanted.iter().enumerate().filter(|(_, wanted)| is_in_phrase(wanted));
        bits.fold(0, |mask, (bit, _)| mask | 1 << bit)
    }

    /// The bits of the words with a meaning of their own.
    pub(super) fn telling(&self) -> u32 {
        let telling = self.wanted.iter().enumerate().filter(|(_, wanted)| !wanted.is_of_grammar);
        telling.fold(0, |bits, (bit, _)| bits | 1 << bit)
    }

    /// Runs of these bits whose words follow each other, as in a name of two words.
    pub(super) fn runs(&self, bits: u32) -> impl Iterator<Item = u32> {
        let mut runs: Vec<u32> = Vec::new();
        for (bit, _) in self.wanted.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1) {
            match runs.last_mut() {
                Some(run) if bit > 0 && *run >> (bit - 1) & 1 == 1 && self.wanted[bit - 1].is_joined => {
                    *run |= 1 << bit;
                }
                _ => runs.push(1 << bit),
            }
        }
        runs.into_iter()
    }

    /// What words of these bits tell together.
    pub(super) fn coverage(&self, mask: u32) -> f32 {
        let has = |bit: usize| mask >> bit & 1 == 1;
        self.wanted.iter().enumerate().filter(|(bit, _)| has(*bit)).map(|(_, wanted)| wanted.weight).sum()
    }
}

impl Memory {
    /// Reads a query. Words between quotes must stand together.
    pub(super) fn ask(&self, query: &str) -> Result<Ask, MemoryError> {
        let mut ask = Ask::default();
        let mut seen = BTreeSet::new();
        let mut last = None;
        for (place, (word, stem)) in words(query).into_iter().zip(stems(query)).enumerate() {
            if ask.wanted.len() >= WORDS_MAX || !seen.insert(stem.clone()) {
                continue;
            }
            let wanted = Wanted::new(word, stem);
            if let (Some(before), false) = (ask.wanted.last_mut(), wanted.is_of_grammar) {
                before.is_joined = !before.is_of_grammar && last.is_some_and(|last| last + 1 == place);
            }
            last = Some(place);
            ask.wanted.push(wanted);
        }
        let is_question = Hint::is_question(query);
        ask.hint = is_question.then(|| Hint::of(&words(query))).flatten();
        let focus = if is_question { Hint::focus(&words(query)) } else { None };
        let phrases = query.split('"').skip(1).step_by(2).map(words);
        ask.phrases = phrases.filter(|phrase| phrase.len() > 1).collect();

        let searcher = self.reader.searcher();
        let pages = searcher.num_docs() + self.fresh.len() as u64;
        for wanted in &mut ask.wanted {
            let mut found = searcher.doc_freq(&Term::from_field_text(self.fields.text, &wanted.stem))?;
            found += self.fresh.iter().filter(|fresh| fresh.stems().contains(&wanted.stem)).count() as u64;
            let kind = match &wanted.word {
                _ if wanted.is_of_grammar => GRAMMAR,
                word if focus.as_ref() == Some(word) => FOCUS,
                word if is_question && is_light(word) => LIGHT,
                _ => 1.0,
            };
            wanted.weight = weight(found, pages) * kind;
            if !wanted.is_of_grammar {
                wanted.kin = self.known(kin(&wanted.stem))?;
            }
            if found <= FEW && !wanted.is_of_grammar {
                wanted.near = self.near(&wanted.stem)?;
            }
        }
        Ok(ask)
    }

    /// The stems that the index or what waits beside it has.
    fn known(&self, stems: Vec<String>) -> Result<Vec<String>, MemoryError> {
        let searcher = self.reader.searcher();
        let mut known = Vec::new();
        for stem in stems {
            let term = Term::from_field_text(self.fields.text, &stem);
            if searcher.doc_freq(&term)? > 0 || self.fresh.iter().any(|fresh| fresh.stems().contains(&stem)) {
                known.push(stem);
            }
        }
        Ok(known)
    }

    /// The stems that were probably meant, nearest and then commonest first.
    fn near(&self, stem: &str) -> Result<Vec<String>, MemoryError> {
        let chars = stem.chars().count();
        // A number that differs in a digit is another number.
        if chars < ONE_ERROR_CHARS || stem.chars().any(|c| c.is_ascii_digit()) {
            return Ok(Vec::new());
        }
        let errors: u8 = if chars < TWO_ERRORS_CHARS { 1 } else { 2 };
        let distance = |found: &str| strsim::osa_distance(stem, found);
        let is_near = |found: &str| found != stem && distance(found) <= usize::from(errors);
        let mut near: Vec<(usize, u64, String)> = Vec::new();
        let query = FuzzyTermQuery::new(Term::from_field_text(self.fields.text, stem), errors, true);
        for segment in self.reader.searcher().segment_readers() {
            let inverted = segment.inverted_index(self.fields.text)?;
            let mut search = inverted.terms().search(query.automaton()?);
            if let (2.., Some(first)) = (errors, stem.chars().next()) {
                // Nearly all words of a large index are two errors away from some beginning of a long word.
                search = search.ge(first.to_string()).lt(format!("{first}{}", char::MAX));
            }
            let mut stream = search.into_stream()?;
            let mut looked_at = 0;
            while looked_at < LOOKED_AT_MAX && stream.advance() {
                looked_at += 1;
                let Ok(found) = std::str::from_utf8(stream.key()) else { continue };
                if is_near(found) {
                    near.push((distance(found), u64::from(stream.value().doc_freq), found.to_owned()));
                }
            }
        }
        for fresh in &self.fresh {
            let found = fresh.stems().iter().filter(|found| found.len().abs_diff(stem.len()) <= 8);
            near.extend(
                found.filter(|found| is_near(found)).map(|found| (distance(found), 1, found.clone())),
            );
        }
        near.sort_by(|one, other| (&one.2, other.1).cmp(&(&other.2, one.1)));
        near.dedup_by(|one, other| one.2 == other.2);
        near.sort_by_key(|(distance, pages, _)| (*distance, u64::MAX - pages));
        Ok(near.into_iter().take(NEAR_MAX).map(|(_, _, found)| found).collect())
    }
}

/// Whether a verb says little of what a question is about.
fn is_light(word: &str) -> bool {
    const WORDS: [&str; 27] = [
        "came", "come", "gave", "get", "give", "go", "got", "happen", "happened", "is", "made", "make",
        "need", "needs", "put", "run", "runs", "said", "say", "take", "took", "use", "used", "uses", "want",
        "went", "work",
    ];
    WORDS.binary_search(&word).is_ok()
}

/// How much of the words with a meaning of their own stands together: from 1 for all of them down to 0. It falls faster
/// than their number, so that three words are worth more than two that tell as much together.
#[expect(clippy::cast_precision_loss, reason = "a query has few words")]
pub(super) fn whole(mask: u32, telling: u32) -> f32 {
    let all = telling.count_ones();
    if all == 0 { 1.0 } else { ((mask & telling).count_ones() as f32 / all as f32).powi(2) }
}

/// How much a word tells, by how many of all pages have it.
#[expect(clippy::cast_precision_loss, reason = "a weight needs no more digits")]
fn weight(found: u64, all: u64) -> f32 {
    let (found, all) = (found as f32, all.max(found) as f32);
    (1.0 + (all - found + 0.5) / (found + 0.5)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_the_wanted_bits_whose_words_are_joined() {
        let mut ask = Ask::default();
        for (word, is_joined) in [("file", true), ("lock", true), ("order", false), ("queue", false)] {
            let wanted = Wanted::new(word.to_owned(), word.to_owned());
            ask.wanted.push(Wanted { is_joined, ..wanted });
        }
        let runs = |bits: u32| ask.runs(bits).collect::<Vec<_>>();
        assert_eq!(runs(0b1111), [0b0111, 0b1000]);
        assert_eq!(runs(0b1011), [0b0011, 0b1000]);
        assert_eq!(runs(0b0101), [0b0001, 0b0100]);
        assert!(runs(0).is_empty());
    }

    #[test]
    fn words_of_grammar_tell_little() {
        assert!(
            is_of_grammar("a") && is_of_grammar("which") && is_of_grammar("your") && !is_of_grammar("redis")
        );
        assert!(weight(1, 100) > weight(50, 100) && weight(50, 100) > weight(100, 100));
    }
}
