//! Whether a later message of a session takes back or changes what a hit says.
//!
//! It is a hint, with the later words beside it, and never a judgement: what it names must have words of revision and
//! speak of the same thing within one or two sentences. It must never hide or move a hit.

use std::collections::BTreeSet;

use tantivy::schema::IndexRecordOption;
use tantivy::{DocAddress, DocSet, TERMINATED, Term};

use super::answer::Judged;
use super::ask::Ask;
use super::memory::Memory;
use super::page::role_number;
use super::parts::MemoryError;
use super::query::Later;
use super::rank::{Candidate, Source};
use super::schema::{stems, words};
use super::snippet;
use crate::stores::{Message, Role};

/// Words by which people and agents take back what was said.
const REVISIONS: [&str; 25] = [
    "instead",
    "no longer",
    "not anymore",
    "changed our mind",
    "changed my mind",
    "change of plan",
    "change of plans",
    "on second thought",
    "scratch that",
    "never mind",
    "nevermind",
    "forget that",
    "take that back",
    "takes that back",
    "revert",
    "reverted",
    "reverting",
    "undo",
    "roll back",
    "rolled back",
    "went back to",
    "go back to",
    "decided against",
    "was wrong",
    "replaced by",
];
/// One stem of each revision, by which pages are found.
const CUES: [&str; 17] = [
    "instead",
    "longer",
    "anymor",
    "mind",
    "plan",
    "plans",
    "second",
    "scratch",
    "nevermind",
    "forget",
    "take",
    "revert",
    "undo",
    "back",
    "against",
    "wrong",
    "replac",
];
/// A word is rare if at most one page in so many has it.
const RARE_PARTS: u64 = 20;
/// Pages in which a word is rare however few there are.
const RARE_PAGES: u64 = 8;
/// Later pages of a session that are looked at.
const PAGES_MAX: usize = 4;
/// Shortest word that names a thing.
const NAME_CHARS: usize = 3;

impl Memory {
    /// The first later message of a person or the agent that has a phrase of revision and, in the same sentence or next to
    /// it, a rare word that both the query and the hit have, or two rare words of the hit.
    pub(super) fn superseded(&self, hit: &Judged, ask: &Ask) -> Result<Option<Later>, MemoryError> {
        let names = names(&hit.message.text);
        let mut later: Vec<Message> = Vec::new();
        for candidate in self.later_pages(hit, &names)? {
            later.extend(self.messages(&candidate)?);
        }
        let fresh = self.fresh.iter().filter(|fresh| fresh.file == hit.file);
        later.extend(fresh.map(|fresh| fresh.message.clone()));
        later.retain(|message| {
            message.place > hit.message.place && is_spoken(message.role) && !message.is_side
        });
        later.sort_by_key(|message| message.place);
        let asked = |stem: &str| ask.wanted.iter().any(|wanted| wanted.stem == stem);
        for message in later {
            for around in revisions(&message.text) {
                let shared: BTreeSet<String> =
                    stems(&around).into_iter().filter(|stem| names.contains(stem)).collect();
                let rare = self.rare(shared)?;
                if rare.len() >= 2 || rare.iter().any(|stem| asked(stem)) {
                    let tokens: Vec<&str> = around.split_whitespace().collect();
                    let text = snippet::from(&tokens, 0);
                    return Ok(Some(Later {
                        text,
                        role: message.role,
                        at: message.at,
                        place: message.place,
                    }));
                }
            }
        }
        Ok(None)
    }

    /// Those of these stems that are rare.
    fn rare(&self, mut stems: BTreeSet<String>) -> Result<BTreeSet<String>, MemoryError> {
        let searcher = self.reader.searcher();
        let most = most(searcher.num_docs());
        let mut common = BTreeSet::new();
        for stem in &stems {
            if searcher.doc_freq(&Term::from_field_text(self.fields.text, stem))? > most {
                common.insert(stem.clone());
            }
        }
        stems.retain(|stem| !common.contains(stem));
        Ok(stems)
    }

    /// Pages of the hit's file with a word of revision and a name that is rare among the pages around.
    fn later_pages(&self, hit: &Judged, names: &BTreeSet<String>) -> Result<Vec<Candidate>, MemoryError> {
        let mut found = Vec::new();
        for (ord, segment) in (0_u32..).zip(self.reader.searcher().segment_readers()) {
            let files = segment.inverted_index(self.fields.file)?;
            let term = Term::from_field_u64(self.fields.file, hit.file);
            let Some(mut pages) = files.read_postings(&term, IndexRecordOption::Basic)? else { continue };
            let mut of_file = Vec::new();
            while pages.doc() != TERMINATED {
                of_file.push(pages.doc());
                pages.advance();
            }
            let texts = segment.inverted_index(self.fields.text)?;
            let having = |stems: &mut dyn Iterator<Item = &str>, most: u64| {
                let mut having = BTreeSet::new();
                for stem in stems {
                    let term = Term::from_field_text(self.fields.text, stem);
                    let Some(info) = texts.get_term_info(&term)? else { continue };
                    if u64::from(info.doc_freq) > most {
                        continue;
                    }
                    let mut pages = texts.read_postings_from_terminfo(&info, IndexRecordOption::Basic)?;
                    for doc in &of_file {
                        if pages.doc() < *doc {
                            pages.seek(*doc);
                        }
                        if pages.doc() == *doc {
                            having.insert(*doc);
                        }
                    }
                }
                Ok::<_, MemoryError>(having)
            };
            let revised = having(&mut CUES.into_iter(), u64::MAX)?;
            if revised.is_empty() {
                continue;
            }
            let named = having(&mut names.iter().map(String::as_str), most(segment.num_docs().into()))?;
            let roles = segment.fast_fields().u64("role")?;
            for doc in revised.intersection(&named) {
                let is_spoken = roles.first(*doc).is_some_and(|role| role != role_number(Role::Tool));
                if is_spoken && !segment.is_deleted(*doc) {
                    let source = Source::Page(DocAddress::new(ord, *doc));
                    found.push(Candidate { source, file: hit.file, score: 0.0 });
                }
            }
        }
        // The latest pages say what holds now.
        let keep = found.len().saturating_sub(PAGES_MAX);
        Ok(found.split_off(keep))
    }
}

/// In how many of these pages a rare word is at most.
fn most(pages: u64) -> u64 {
    (pages / RARE_PARTS).max(RARE_PAGES)
}

/// The words of a text that may name a thing, as stems.
fn names(text: &str) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = stems(text).into_iter().collect();
    names.retain(|stem| {
        stem.chars().count() >= NAME_CHARS && !CUES.contains(&stem.as_str()) && !is_common(stem)
    });
    names
}

fn is_spoken(role: Role) -> bool {
    matches!(role, Role::User | Role::Assistant)
}

/// Words that name nothing, however few pages there are.
fn is_common(stem: &str) -> bool {
    const COMMON: [&str; 40] = [
        "the", "and", "for", "that", "this", "with", "not", "are", "was", "were", "you", "have", "has",
        "had", "but", "our", "use", "can", "will", "would", "should", "from", "they", "them", "what", "why",
        "how", "when", "which", "all", "one", "let", "now", "did", "doe", "more", "too", "get", "its",
        "becaus",
    ];
    COMMON.contains(&stem)
}

/// The sentences around each phrase of revision.
fn revisions(text: &str) -> Vec<String> {
    let sentences: Vec<&str> = text.split_inclusive(['.', '!', '?', '\n', ';']).collect();
    let is_revision = |sentence: &str| {
        let found = words(sentence);
        REVISIONS.iter().any(|phrase| {
            let phrase: Vec<&str> = phrase.split(' ').collect();
            found.windows(phrase.len()).any(|window| window == phrase)
        })
    };
    let around = |n: usize| sentences[n.saturating_sub(1)..(n + 2).min(sentences.len())].concat();
    let revised = sentences.iter().enumerate().filter(|(_, sentence)| is_revision(sentence));
    revised.map(|(n, _)| around(n)).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::machine::{Machine, message};
    use super::*;

    #[test]
    fn a_revision_is_shown_with_the_sentences_beside_it() {
        let found = revisions("It is fast. It is small. Use tabs instead. Yes. No.");
        assert_eq!(found, [" It is small. Use tabs instead. Yes."]);
        assert_eq!(revisions("Scratch that! Redis is out."), ["Scratch that! Redis is out."]);
        assert!(revisions("Redis stays for good.").is_empty());
    }

    #[test]
    fn a_name_is_no_word_of_revision_nor_a_common_one() {
        let found: Vec<String> = names("Use Redis for the cache instead of it").into_iter().collect();
        assert_eq!(found, ["cach", "redi"]);
    }

    #[test]
    fn each_revision_is_shown_with_its_own_neighbours() {
        let found = revisions("Undo it. One. Two. Three. Never mind; that is all");
        assert_eq!(found, ["Undo it. One.", " Three. Never mind; that is all"]);
        // Neither a part of a phrase nor its words apart.
        assert!(revisions("We went back home. Change the plan. A mind changed; no such longer!").is_empty());
    }

    #[rstest]
    #[case(0, 8)]
    #[case(160, 8)]
    #[case(179, 8)]
    #[case(180, 9)]
    #[case(2_000, 100)]
    fn a_word_of_few_pages_is_rare(#[case] pages: u64, #[case] most_pages: u64) {
        assert_eq!(most(pages), most_pages);
    }

    /// Sessions of many pages, in all of which a common word stands.
    fn machine(first: &str, later: &str, role: &str) -> Machine {
        let machine = Machine::new();
        for n in 0..12 {
            machine.say(&format!("other{n}"), "user", "the weather of today", None);
        }
        machine.say("one", "assistant", first, None);
        machine.say("one", role, later, None);
        machine
    }

    #[rstest]
    #[case::a_rare_word_that_was_asked_for("redis", "We take Redis.", "Scratch that. No Redis.", true)]
    #[case::two_rare_words_of_the_hit(
        "queue",
        "The queue is for Redis and Kafka.",
        "Redis and Kafka are out instead.",
        true
    )]
    #[case::one_rare_word_that_was_not_asked_for(
        "queue",
        "The queue is for Redis.",
        "Redis is out instead.",
        false
    )]
    #[case::a_common_word_that_was_asked_for(
        "weather redis",
        "Redis and the weather.",
        "The weather is bad instead.",
        false
    )]
    #[case::nothing_of_the_hit("redis", "We take Redis.", "Use tabs instead.", false)]
    #[case::too_far_away(
        "redis",
        "We take Redis.",
        "Redis. One. Two. Use tabs instead. One. Two. Redis.",
        false
    )]
    #[case::no_revision("redis", "We take Redis.", "Redis is fine.", false)]
    fn what_speaks_of_the_same_thing_and_takes_it_back_is_told(
        #[case] query: &str,
        #[case] first: &str,
        #[case] later: &str,
        #[case] is_told: bool,
        #[values("user", "assistant")] role: &str,
    ) {
        let mut memory = machine(first, later, role).open();
        memory.refresh().unwrap();
        memory.flush().unwrap();
        let told = told(&memory, query, first);
        assert_eq!(told.is_some(), is_told, "{told:?}");
        assert!(told.is_none_or(|told| told.text == later));
    }

    fn told(memory: &Memory, query: &str, first: &str) -> Option<Later> {
        let files = memory.catalog.files.iter();
        let file = *files.clone().find(|(_, entry)| entry.mark.session.id == "one").unwrap().0;
        let hit = Judged { message: message(Role::Assistant, first), file, score: 1.0 };
        memory.superseded(&hit, &memory.ask(query).unwrap()).unwrap()
    }

    #[test]
    fn the_first_later_message_of_a_person_or_the_agent_is_told() {
        let machine = machine("We take Redis.", "We drop Redis instead.", "user");
        machine.say("one", "user", "Scratch that, Redis it is.", None);
        machine.call("call", "Bash", "echo we drop redis instead");
        machine.call("side", "Bash", "true");
        let mut memory = machine.open();
        memory.refresh().unwrap();
        for _ in 0..2 {
            assert_eq!(told(&memory, "redis", "We take Redis.").unwrap().text, "We drop Redis instead.");
            memory.flush().unwrap();
        }
        for (role, is_side) in [("user", true), ("summary", false)] {
            let machine = Machine::new();
            machine.say("one", "user", "We take Redis.", None);
            let said = serde_json::json!({
                "type": "user", "message": {"content": "We drop Redis instead."}, "isSidechain": is_side,
                "isCompactSummary": role == "summary",
            });
            machine.line("one", &said);
            machine.call("one", "Bash", "echo we drop redis instead");
            let mut memory = machine.open();
            memory.refresh().unwrap();
            for _ in 0..2 {
                assert_eq!(told(&memory, "redis", "We take Redis."), None, "{role}");
                memory.flush().unwrap();
            }
        }
    }

    #[test]
    fn a_message_takes_back_nothing_that_is_said_after_it_or_in_it() {
        let text = "We drop Redis instead.";
        let machine = machine(text, "Redis is out.", "user");
        let mut memory = machine.open();
        memory.refresh().unwrap();
        for _ in 0..2 {
            assert_eq!(told(&memory, "redis", text), None);
            memory.flush().unwrap();
        }
    }

    #[test]
    fn of_many_later_pages_the_last_ones_are_looked_at() {
        let machine = Machine::new();
        machine.say("one", "user", "We take Redis.", None);
        for n in 0..6 {
            // More than a page.
            machine.say("one", "user", &format!("Instead of Redis {n}. {}", "filler ".repeat(2_000)), None);
        }
        let mut memory = machine.open();
        memory.refresh().unwrap();
        memory.flush().unwrap();
        let told = told(&memory, "redis", "We take Redis.").unwrap();
        assert!(told.text.starts_with("Instead of Redis 2."), "{told:?}");
    }

    #[test]
    fn each_revision_has_a_cue() {
        for phrase in REVISIONS {
            assert!(stems(phrase).iter().any(|stem| CUES.contains(&stem.as_str())), "{phrase}");
        }
    }
}
