//! Judges how well one message answers a query, by its text.
//!
//! It must never judge more texts than a query may read.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use super::ask::{Ask, Wanted, whole};
use super::hint::Seen;
use super::meant::Meant;
use super::schema::{stems, words};
use super::weights::{ASKING, BESIDE, EXPECTED, JOINED, KIN, MEANT, NEAR, SENTENCE, STEM};

const K1: f32 = 1.2;
const B: f32 = 0.5;
/// Words of an average message.
const AVERAGE_WORDS: f32 = 120.0;

/// Judges texts by one query.
pub(super) struct Judge<'a> {
    pub(super) ask: &'a Ask,
    /// The bits of the words with a meaning of their own.
    telling: u32,
    /// What the words begin with that are worth a look: a stem begins as its word does.
    begins: BTreeSet<char>,
    /// What the words of the texts have turned out to mean.
    known: RefCell<BTreeMap<String, Option<(usize, f32)>>>,
    /// What else the words mean, if that counts.
    meant: Option<Meant<'a>>,
    /// The largest part of the words with a meaning of their own that a sentence has had.
    share: Cell<f32>,
}

/// What a sentence has of a query.
#[derive(Default)]
struct Found {
    /// The bits of its words.
    mask: u32,
    /// The bits of those that stand together as in the query.
    joined: u32,
    seen: Seen,
    /// What its other words only mean of the query.
    meant: f32,
}

impl<'a> Judge<'a> {
    /// Judges with regard to what words mean, if that is given.
    pub(super) fn new(ask: &'a Ask, meant: Option<Meant<'a>>) -> Self {
        let stems = ask
            .wanted
            .iter()
            .flat_map(|wanted| wanted.near.iter().chain(&wanted.kin).chain([&wanted.stem, &wanted.word]));
        Self {
            ask,
            telling: ask.telling(),
            begins: stems.filter_map(|stem| stem.chars().next()).collect(),
            known: RefCell::default(),
            meant,
            share: Cell::default(),
        }
    }

    /// The largest part of the words with a meaning of their own that a sentence has had so far.
    pub(super) fn share(&self) -> f32 {
        self.share.get()
    }

    /// How well a text answers; `None` if it has no word of the query or lacks a phrase.
    #[expect(clippy::cast_precision_loss, reason = "counts of words in a message")]
    pub(super) fn judge(&self, text: &str) -> Option<f32> {
        let mut counts = vec![0.0_f32; self.ask.wanted.len()];
        let mut length = 0;
        let (mut before, mut best) = (0, 0.0_f32);
        for sentence in sentences(text) {
            let (mut found, mut last, mut others) = (Found::default(), None, Vec::new());
            for token in sentence.split(|c: char| !c.is_alphanumeric()).filter(|token| !token.is_empty()) {
                let wanted = self.wanted(token, &mut counts);
                if let Some(wanted) = wanted {
                    found.mask |= 1 << wanted;
                    if wanted > 0 && last == Some(wanted - 1) && self.ask.wanted[wanted - 1].is_joined {
                        found.joined |= 3 << (wanted - 1);
                    }
                }
                if wanted.is_none() && self.meant.is_some() {
                    others.push(token);
                }
                if let Some(hint) = self.ask.hint {
                    found.seen.look(hint, token, wanted.is_some());
                }
                last = wanted;
                length += 1;
            }
            if found.mask != 0 {
                self.look_closer(&mut found, &others);
                best = best.max(self.sentence(&found, before, sentence.ends_with('?')));
            }
            before = found.mask;
        }
        let norm = K1 * (1.0 - B + B * length as f32 / AVERAGE_WORDS);
        let saturated = |count: &f32| count * (K1 + 1.0) / (count + norm);
        let words = self.ask.wanted.iter().zip(&counts);
        let score: f32 = words.map(|(wanted, count)| wanted.weight * saturated(count)).sum();
        let is_answer = score > 0.0 && self.has_phrases(text);
        is_answer.then_some(score + best)
    }

    /// Counts the words with a meaning of their own, and looks for what is lacking among the other words.
    #[expect(clippy::cast_precision_loss, reason = "a query has few words")]
    fn look_closer(&self, found: &mut Found, others: &[&str]) {
        let (has, lacking) = (found.mask & self.telling, self.telling & !found.mask);
        let share = has.count_ones() as f32 / self.telling.count_ones().max(1) as f32;
        self.share.set(self.share.get().max(share));
        if let (Some(meant), true, true) = (&self.meant, has != 0, lacking != 0) {
            let runs = self.ask.runs(lacking);
            found.meant = runs.map(|run| self.ask.coverage(run) * meant.closeness(run, others)).sum();
        }
    }

    /// What a sentence tells that has words of the query.
    fn sentence(&self, found: &Found, before: u32, asks: bool) -> f32 {
        let told = if self.meant.is_some() { self.told_by_meaning(found) } else { self.told(found, before) };
        let told = if asks { told * ASKING } else { told };
        if found.seen.is_met { told * (1.0 + EXPECTED) } else { told }
    }

    /// What its words tell, and a little those of the sentence before.
    fn told(&self, found: &Found, before: u32) -> f32 {
        let value = |mask: u32| self.ask.coverage(mask) * whole(mask, self.telling);
        let own = value(found.mask);
        let beside = value(found.mask | before) - own;
        SENTENCE * (own + BESIDE * beside) + JOINED * self.ask.coverage(found.joined)
    }

    /// What its words tell, with what they only mean.
    fn told_by_meaning(&self, found: &Found) -> f32 {
        SENTENCE * (self.ask.coverage(found.mask & self.telling) + MEANT * found.meant)
    }

    /// Which word of the query stands here, if any; it is counted.
    fn wanted(&self, token: &str, counts: &mut [f32]) -> Option<usize> {
        let first = token.chars().next()?;
        let first =
            if first.is_ascii() { first.to_ascii_lowercase() } else { first.to_lowercase().next()? };
        if !self.begins.contains(&first) {
            return None;
        }
        let is_lower = token.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase());
        let word = if is_lower { Cow::Borrowed(token) } else { Cow::Owned(token.to_lowercase()) };
        let mut known = self.known.borrow_mut();
        let found = if let Some(found) = known.get(&*word) {
            *found
        } else {
            let found = self.meant(&word);
            known.insert(word.into_owned(), found);
            found
        };
        let (wanted, count) = found?;
        counts[wanted] += count;
        Some(wanted)
    }

    /// Which word of the query is meant by a word of a text, and what it counts.
    fn meant(&self, word: &str) -> Option<(usize, f32)> {
        let stem = stems(word).pop()?;
        let same = |wanted: &Wanted| if wanted.word == word { 1.0 } else { STEM };
        let mut wanted = self.ask.wanted.iter().enumerate();
        let of_stem = wanted.find(|(_, wanted)| wanted.stem == stem).map(|(n, wanted)| (n, same(wanted)));
        let of_kin =
            || self.ask.wanted.iter().position(|wanted| wanted.kin.contains(&stem)).map(|n| (n, KIN));
        let near =
            || self.ask.wanted.iter().position(|wanted| wanted.near.contains(&stem)).map(|n| (n, NEAR));
        of_stem.or_else(of_kin).or_else(near)
    }

    fn has_phrases(&self, text: &str) -> bool {
        if self.ask.phrases.is_empty() {
            return true;
        }
        let words = words(text);
        let has = |phrase: &Vec<String>| words.windows(phrase.len()).any(|found| found == *phrase);
        self.ask.phrases.iter().all(has)
    }
}

/// The sentences of a text, each with the sign that ends it. A sign within a word, as in a path or a number, ends none.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let bytes = rest.as_bytes();
        let ends = |at: usize| match bytes[at] {
            b'\n' => true,
            b'.' | b'!' | b'?' | b';' => bytes.get(at + 1).is_none_or(u8::is_ascii_whitespace),
            _ => false,
        };
        let end = (0..bytes.len()).find(|at| ends(*at)).map_or(bytes.len(), |at| at + 1);
        let (sentence, after) = rest.split_at(end);
        rest = after;
        Some(sentence)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(query: &str) -> Ask {
        let wanted = words(query).into_iter().zip(stems(query));
        let wanted = wanted.map(|(word, stem)| Wanted {
            near: vec!["radi".to_owned()],
            weight: 1.0,
            ..Wanted::new(word, stem)
        });
        Ask { wanted: wanted.collect(), ..Ask::default() }
    }

    #[test]
    fn the_word_itself_counts_more_than_one_of_its_stem_and_that_more_than_a_typing_error() {
        let score = |text| Judge::new(&ask("caches"), None).judge(text).unwrap_or_default();
        assert!(score("the caches") > score("the cache") && score("the cache") > score("the radis"));
        assert!(score("the radis") > 0.0 && Judge::new(&ask("caches"), None).judge("nothing").is_none());
        let score = |text| Judge::new(&ask("file lock"), None).judge(text).unwrap_or_default();
        assert!(score("take the file lock") > score("the lock of the file"));
    }

    #[test]
    fn words_that_stand_together_as_in_the_query_tell_more_than_the_same_apart() {
        let mut ask = ask("file lock");
        ask.wanted[0].is_joined = true;
        let score = |text| Judge::new(&ask, None).judge(text).unwrap_or_default();
        assert!(score("take the file lock") > score("take the lock file"));
    }

    #[test]
    fn the_sentence_before_tells_a_little_where_it_has_other_words() {
        let ask = ask("file lock");
        let judge = Judge::new(&ask, None);
        let told = |mask, before| judge.told(&Found { mask, ..Found::default() }, before);
        let (one, both) = (told(0b01, 0), told(0b11, 0));
        assert!(one > 0.0 && both > 2.0 * one);
        let beside = one + BESIDE * (both - one);
        for (mask, before, expected) in
            [(0b01, 0b01, one), (0b01, 0b10, beside), (0b01, 0b11, beside), (0b11, 0b10, both)]
        {
            assert!((told(mask, before) - expected).abs() < 1e-4, "{mask} after {before}");
        }
    }

    #[test]
    fn what_a_sentence_means_tells_as_much_as_its_words_and_nothing_where_it_has_none() {
        let ask = ask("file lock");
        let judge = Judge::new(&ask, None);
        let told = |mask, meant| judge.told_by_meaning(&Found { mask, meant, ..Found::default() });
        let one = told(0b01, 0.0);
        assert!(one > 0.0);
        for (mask, meant, words) in [(0, 0.0, 0.0), (0b11, 0.0, 2.0), (0, 1.0 / MEANT, 1.0)] {
            assert!((told(mask, meant) - words * one).abs() < 1e-4, "{mask} {meant}");
        }
    }

    /// What the words of a text count without its best sentence, which has one word of the query.
    fn counted(text: &str) -> f32 {
        let ask = ask("lock");
        let judge = Judge::new(&ask, None);
        judge.judge(text).unwrap() - judge.told(&Found { mask: 1, ..Found::default() }, 0)
    }

    #[test]
    fn a_word_counts_one_in_a_message_of_average_length_and_more_in_a_shorter_one() {
        let [short, average, long] = [1, 120, 1_200].map(|words| counted(&"lock".to_owned().add(words)));
        assert!((average - 1.0).abs() < 1e-4, "{average}");
        assert!(long > 0.0 && long < 0.5 && short > 1.2 && short < 1.5, "{short} {long}");
        let repeated = |times: usize| counted(&"lock. ".repeat(times).add(120 - times + 1));
        let (two, three) = (repeated(2), repeated(3));
        assert!(two > average && three > two && two - average > three - two, "{average} {two} {three}");
    }

    trait Add {
        /// The text with other words up to this number.
        fn add(&self, words: usize) -> String;
    }

    impl Add for String {
        fn add(&self, words: usize) -> String {
            format!("{self}{}", " filler".repeat(words - 1))
        }
    }

    #[test]
    fn words_are_joined_where_the_query_joins_them_and_one_follows_the_other_at_once() {
        let mut ask = ask("take file lock");
        ask.wanted[1].is_joined = true;
        let judge = Judge::new(&ask, None);
        let score = |text| judge.judge(text).unwrap();
        let apart = score("lock file take");
        for (text, is_more) in [
            ("take lock file", false),
            ("lock take file", false),
            ("lock file take", false),
            ("take file lock", true),
            ("file lock take", true),
            // The two that are not joined by the query.
            ("lock take file", false),
        ] {
            assert_eq!(score(text) > apart + 1e-4, is_more, "{text}");
        }
        // Both words count.
        assert!((score("file lock take") - apart - 2.0 * JOINED).abs() < 1e-4);
        let [joined, with_a_word_between] =
            ["file lock take it", "file it lock take"].map(|text| judge.judge(text).unwrap());
        assert!(joined > with_a_word_between);
        let [together, in_two_sentences] =
            ["it. file lock", "file. lock it"].map(|text| judge.judge(text).unwrap());
        assert!(together > in_two_sentences);
    }

    #[test]
    fn a_sentence_that_asks_tells_less_and_one_with_what_is_expected_more() {
        let ask = ask("file lock");
        let judge = Judge::new(&ask, None);
        let seen = |is_met: bool| {
            let mut seen = Seen::default();
            seen.is_met = is_met;
            Found { mask: 0b01, seen, ..Found::default() }
        };
        let told = |is_met, asks| judge.sentence(&seen(is_met), 0, asks);
        let plain = told(false, false);
        assert!(told(false, true) < plain && told(false, true) > 0.5 * plain);
        assert!(told(true, false) > plain && told(true, false) < 1.5 * plain);
        assert!((told(true, true) * plain - told(true, false) * told(false, true)).abs() < 1e-2);
        let hinted = Ask { hint: Some(super::super::hint::Hint::Number), ..ask.clone() };
        let score = |text| Judge::new(&hinted, None).judge(text).unwrap();
        assert!(score("the lock has 8443") > score("the lock has some"));
        assert!(score("the lock has some.") > score("the lock has some?"));
    }

    #[test]
    fn the_share_is_the_largest_part_of_the_telling_words_that_a_sentence_has() {
        let ask = ask("which file lock port");
        for (text, share) in [
            ("nothing", 0.0),
            ("which one", 0.0),
            ("file", 1.0 / 3.0),
            ("file. lock port. which", 2.0 / 3.0),
            ("which port, file, lock, file", 1.0),
        ] {
            let judge = Judge::new(&ask, None);
            judge.judge(text);
            assert!((judge.share() - share).abs() < 1e-6, "{text}: {}", judge.share());
        }
        let judge = Judge::new(&ask, None);
        judge.judge("file lock");
        judge.judge("file");
        assert!(judge.share() > 0.6, "a later text takes nothing away");
    }

    #[test]
    fn a_word_is_found_in_whatever_letters_it_is_written() {
        for (query, text) in [
            ("lock", "LOCK"),
            ("lock", "lOCK"),
            ("größe", "GRÖSSE größe"),
            ("öl", "Öl"),
            ("Öl", "öl"),
            ("file_lock", "a file-lock"),
        ] {
            assert!(Judge::new(&ask(query), None).judge(text).is_some(), "{query} in {text}");
        }
        let score = |text| Judge::new(&ask("lock"), None).judge(text);
        assert!(["LOCK", "Lock", "lOcK"].iter().all(|text| score(text) == score("lock")));
        assert_eq!(Judge::new(&ask("lock"), None).judge("lo ck clock -- locker"), None);
        assert_eq!(Judge::new(&ask("lock"), None).judge(""), None);
    }

    #[test]
    fn a_word_of_the_family_counts_between_the_stem_and_a_typing_error() {
        let wanted = Wanted {
            kin: vec!["chose".to_owned()],
            near: vec!["chooz".to_owned(), "chose".to_owned()],
            weight: 1.0,
            ..Wanted::new("choose".to_owned(), "choos".to_owned())
        };
        let ask = Ask { wanted: vec![Wanted::new("it".into(), "it".into()), wanted], ..Ask::default() };
        let judge = Judge::new(&ask, None);
        let counts = ["choose", "choosing", "chose", "chooz"].map(|word| judge.meant(word).unwrap());
        assert!(counts.iter().all(|(place, _)| *place == 1));
        assert!(counts.is_sorted_by(|(_, more), (_, less)| more > less), "{counts:?}");
        assert!((counts[0].1 - 1.0).abs() < f32::EPSILON && judge.meant("other").is_none());
    }

    #[test]
    fn all_phrases_must_stand_in_a_text_as_they_are() {
        let phrase = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let phrases = vec![phrase(&["file", "lock"]), phrase(&["one", "machine"])];
        let ask = Ask { phrases, ..ask("file lock one machine") };
        let judge = Judge::new(&ask, None);
        for (text, is_answer) in [
            ("A file lock for one machine", true),
            ("One machine: File, Lock.", true),
            ("the file lock", false),
            ("one machine", false),
            ("the file and lock of one machine", false),
            ("locked files: file locks for one machine", false),
            ("file", false),
        ] {
            assert_eq!(judge.judge(text).is_some(), is_answer, "{text}");
        }
    }

    #[test]
    fn a_sign_within_a_word_ends_no_sentence() {
        let found: Vec<&str> = sentences("See src/a.rs, v1.5. Why? \nDone").collect();
        assert_eq!(found, ["See src/a.rs, v1.5.", " Why?", " \n", "Done"]);
    }

    #[test]
    fn the_sentence_that_has_more_of_the_words_answers() {
        let score = |text| Judge::new(&ask("which port does the invoice export use"), None).judge(text);
        let answer = score("The invoice export listens on port 8443.");
        assert!(answer > score("The invoice export is fine. We use a port another day."));
        assert!(answer > score("Which port? The export is an invoice."));
    }
}
