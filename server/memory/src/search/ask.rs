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
    use rstest::rstest;

    use super::super::machine::Machine;
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
    fn ask(words: &[(&str, f32)]) -> Ask {
        let wanted = words.iter().map(|(word, weight)| Wanted {
            weight: *weight,
            ..Wanted::new((*word).to_owned(), (*word).to_owned())
        });
        Ask { wanted: wanted.collect(), ..Ask::default() }
    }

    #[test]
    fn the_bits_of_a_query_stand_for_the_places_of_its_words() {
        let mut ask = ask(&[("which", 1.0), ("file", 2.0), ("lock", 4.0), ("the", 8.0)]);
        assert_eq!((ask.telling(), ask.phrase_mask()), (0b0110, 0));
        let phrase = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        ask.phrases = vec![phrase(&["the", "file"]), phrase(&["file", "absent"])];
        assert_eq!(ask.phrase_mask(), 0b1010);
        for (mask, told) in [(0, 0.0), (0b0001, 1.0), (0b0110, 6.0), (0b1111, 15.0), (0b11_0000, 0.0)] {
            assert!((ask.coverage(mask) - told).abs() < f32::EPSILON, "{mask}");
        }
    }

    #[rstest]
    #[case::all(0b0110, 0b0110, 1.0)]
    #[case::half(0b0010, 0b0110, 0.25)]
    #[case::a_third(0b0010, 0b1110, 1.0 / 9.0)]
    #[case::of_grammar_alone(0b0001, 0b0110, 0.0)]
    #[case::nothing_but_grammar_is_asked(0b0001, 0, 1.0)]
    fn the_part_of_the_words_that_stands_together_counts_by_its_square(
        #[case] mask: u32,
        #[case] telling: u32,
        #[case] part: f32,
    ) {
        assert!((whole(mask, telling) - part).abs() < 1e-6);
    }

    #[test]
    fn a_word_tells_more_the_fewer_pages_have_it_and_never_nothing() {
        let weights = [0, 1, 10, 50, 99, 100].map(|found| weight(found, 100));
        assert!(weights.is_sorted_by(|rarer, commoner| rarer > commoner), "{weights:?}");
        assert!(weights[5] > 0.0 && weight(1, 1_000) > weight(1, 100));
        // As many pages may be deleted as were counted.
        assert!((weight(7, 3) - weight(7, 7)).abs() < f32::EPSILON && weight(0, 0) > 0.0);
        // One in two tells as much as a coin.
        assert!((weight(50, 100) - std::f32::consts::LN_2).abs() < 1e-2, "{}", weight(50, 100));
    }

    fn memory(texts: &[&str]) -> Memory {
        let machine = Machine::new();
        for (n, text) in texts.iter().enumerate() {
            machine.say(&format!("s{n}"), "user", text, None);
        }
        let mut memory = machine.open();
        memory.refresh().unwrap();
        memory
    }

    #[test]
    fn words_are_joined_where_one_follows_the_other_and_both_tell() {
        let memory = memory(&[]);
        for (query, joined) in [
            ("file lock order", &["file", "lock"][..]),
            ("file lock the order", &["file"]),
            ("the file lock", &["file"]),
            ("file of lock", &[]),
            ("file file lock", &[]),
            ("lock file lock order", &["lock"]),
            ("file", &[]),
        ] {
            let ask = memory.ask(query).unwrap();
            let found = ask.wanted.iter().filter(|wanted| wanted.is_joined).map(|wanted| &*wanted.word);
            assert_eq!(found.collect::<Vec<_>>(), joined, "{query}");
        }
    }

    #[test]
    fn a_query_has_so_many_words_and_each_of_them_once() {
        let memory = memory(&[]);
        let count = |query: &str| memory.ask(query).unwrap().wanted.len();
        let many = |words: usize| (0..words).map(|n| format!("word{n}")).collect::<Vec<_>>().join(" ");
        assert_eq!(count("lock locks Lock locking"), 1);
        assert_eq!((count(&many(WORDS_MAX)), count(&many(WORDS_MAX + 5))), (WORDS_MAX, WORDS_MAX));
    }

    #[test]
    fn only_what_stands_between_quotes_and_is_more_than_a_word_is_a_phrase() {
        let memory = memory(&[]);
        for (query, phrases) in [
            ("take \"file lock\" of", &["file lock"][..]),
            ("\"File, lock!\" and \"one machine\"", &["file lock", "one machine"]),
            ("\"file\" lock", &[]),
            ("file lock", &[]),
            ("file \"lock it", &["lock it"]),
        ] {
            let ask = memory.ask(query).unwrap();
            let found: Vec<String> = ask.phrases.iter().map(|phrase| phrase.join(" ")).collect();
            assert_eq!(found, phrases, "{query}");
        }
    }

    #[test]
    fn the_weight_of_a_word_goes_by_its_pages_its_kind_and_the_question() {
        let memory = memory(&["port", "port", "exporter", "the use"]);
        let weight_in = |query: &str, word: &str| {
            let ask = memory.ask(query).unwrap();
            ask.wanted.iter().find(|wanted| wanted.word == word).unwrap().weight
        };
        let [plain, rare] = ["port", "exporter"].map(|word| weight_in("port exporter use the", word));
        assert!((plain - weight(2, 4)).abs() < 1e-6 && (rare - weight(1, 4)).abs() < 1e-6);
        let question = "which port does the exporter use";
        assert!(weight_in(question, "port") > plain);
        assert!((weight_in(question, "exporter") - rare).abs() < 1e-6);
        assert!(weight_in(question, "use") < weight_in("port use", "use"));
        assert!(weight_in("port use the", "the") < 0.5 * weight_in("port use the", "use"));
        assert!(memory.ask("port exporter").unwrap().hint.is_none());
        assert_eq!(memory.ask(question).unwrap().hint, Some(Hint::Number));
    }

    #[test]
    fn words_of_the_family_are_taken_where_they_were_said() {
        let mut memory = memory(&["we chose it", "no choice", "other"]);
        for _ in 0..2 {
            let kin = |query: &str| memory.ask(query).unwrap().wanted.remove(0).kin;
            assert_eq!(kin("choose"), ["chose", "choic"]);
            assert_eq!(kin("chosen"), ["chose", "choic"]);
            assert!(kin("leave").is_empty());
            memory.flush().unwrap();
        }
    }

    /// What is taken for a word, waiting or on pages; only of pages it is known which of them is the commonest.
    fn check_near(texts: &[&str], cases: &[(&str, &[&str])]) {
        let mut memory = memory(texts);
        for is_waiting in [true, false] {
            for (word, expected) in cases {
                let mut near = memory.ask(word).unwrap().wanted.remove(0).near;
                let mut expected = expected.to_vec();
                if is_waiting {
                    near.sort_unstable();
                    expected.sort_unstable();
                }
                assert_eq!(near, expected, "{word}");
            }
            memory.flush().unwrap();
        }
    }

    #[test]
    fn a_typing_error_is_looked_for_where_the_word_is_rare_and_long_enough() {
        let rare = ["clusten clustel", "clusterx1", "lode", "kubernetes kubernetex", "loft", "lost99"];
        check_near(
            &[&["cluster"; 5][..], &rare].concat(),
            &[
                // The commonest first.
                ("clustem", &["cluster", "clustel", "clusten"]),
                ("cluster", &[]),
                ("clusten", &["cluster", "clustel"]),
                // Two letters of a long word, one of a short one, none of a very short one.
                ("kubernetyyy", &[]),
                ("kubernetyy", &["kubernet", "kubernetex"]),
                ("lofd", &["loft"]),
                ("lotd", &[]),
                ("lof", &[]),
                ("lost98", &[]),
                ("would", &[]),
            ],
        );
    }

    #[test]
    fn the_nearest_words_come_first_then_the_commonest_and_only_a_few_are_taken() {
        let one_error = ["zanzibaa", "zanzibaa", "zanzibab", "zanzibac", "zanzibac"];
        check_near(
            &[&["zanzobbx"; 4][..], &one_error].concat(),
            &[("zanzibax", &["zanzibaa", "zanzibac", "zanzibab"])],
        );
        check_near(&["zanzobax", "zanzobay", "zanzobay"], &[("zanzibax", &["zanzobax", "zanzobay"])]);
    }

    #[test]
    fn light_verbs_and_words_of_grammar_are_found_in_their_lists() {
        for (word, is_light_verb) in
            [("came", true), ("happen", true), ("work", true), ("drop", false), ("", false)]
        {
            assert_eq!(is_light(word), is_light_verb, "{word}");
        }
    }
}
