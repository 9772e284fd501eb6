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
        let rare = self.rare(&hit.message)?;
        if rare.is_empty() {
            return Ok(None);
        }
        let asked: BTreeSet<&str> = ask
            .wanted
            .iter()
            .map(|wanted| wanted.stem.as_str())
            .filter(|stem| rare.contains(*stem))
            .collect();
        let mut later: Vec<Message> = Vec::new();
        for candidate in self.later_pages(hit, &rare)? {
            later.extend(self.messages(&candidate)?);
        }
        let fresh = self.fresh.iter().filter(|fresh| fresh.file == hit.file);
        later.extend(fresh.map(|fresh| fresh.message.clone()));
        later.retain(|message| {
            message.place > hit.message.place && is_spoken(message.role) && !message.is_side
        });
        later.sort_by_key(|message| message.place);
        Ok(later.into_iter().find_map(|message| {
            let text = revision(&message.text, &rare, &asked)?;
            Some(Later { text, role: message.role, at: message.at, place: message.place })
        }))
    }

    /// The rare words of a message, as stems.
    fn rare(&self, message: &Message) -> Result<BTreeSet<String>, MemoryError> {
        let searcher = self.reader.searcher();
        let most = (searcher.num_docs() / RARE_PARTS).max(RARE_PAGES);
        let mut rare: BTreeSet<String> = stems(&message.text).into_iter().collect();
        rare.retain(|stem| {
            stem.chars().count() >= NAME_CHARS && !CUES.contains(&stem.as_str()) && !is_common(stem)
        });
        let mut out = BTreeSet::new();
        for stem in rare {
            if searcher.doc_freq(&Term::from_field_text(self.fields.text, &stem))? <= most {
                out.insert(stem);
            }
        }
        Ok(out)
    }

    /// Pages of the hit's file with a word of revision and a rare word.
    fn later_pages(&self, hit: &Judged, rare: &BTreeSet<String>) -> Result<Vec<Candidate>, MemoryError> {
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
            let having = |stems: &mut dyn Iterator<Item = &str>| -> Result<BTreeSet<u32>, MemoryError> {
                let mut having = BTreeSet::new();
                for stem in stems {
                    let term = Term::from_field_text(self.fields.text, stem);
                    let Some(mut pages) = texts.read_postings(&term, IndexRecordOption::Basic)? else {
                        continue;
                    };
                    for doc in &of_file {
                        if pages.doc() < *doc {
                            pages.seek(*doc);
                        }
                        if pages.doc() == *doc {
                            having.insert(*doc);
                        }
                    }
                }
                Ok(having)
            };
            let revised = having(&mut CUES.into_iter())?;
            if revised.is_empty() {
                continue;
            }
            let named = having(&mut rare.iter().map(String::as_str))?;
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

/// The sentences around a phrase of revision, if they speak of what the hit speaks of.
fn revision(text: &str, rare: &BTreeSet<String>, asked: &BTreeSet<&str>) -> Option<String> {
    let sentences: Vec<&str> = text.split_inclusive(['.', '!', '?', '\n', ';']).collect();
    let is_revision = |sentence: &&str| {
        let found = words(sentence);
        REVISIONS.iter().any(|phrase| {
            let phrase: Vec<&str> = phrase.split(' ').collect();
            found.windows(phrase.len()).any(|window| window == phrase)
        })
    };
    for (n, _) in sentences.iter().enumerate().filter(|(_, sentence)| is_revision(sentence)) {
        let around = sentences[n.saturating_sub(1)..(n + 2).min(sentences.len())].concat();
        let shared: BTreeSet<String> =
            stems(&around).into_iter().filter(|stem| rare.contains(stem)).collect();
        let is_same = shared.len() >= 2 || shared.iter().any(|stem| asked.contains(stem.as_str()));
        if is_same {
            let tokens: Vec<&str> = around.split_whitespace().collect();
            return Some(snippet::from(&tokens, 0));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_speaks_of_the_same_thing() {
        let rare: BTreeSet<String> = ["redi", "cach"].map(str::to_owned).into();
        let asked = BTreeSet::from(["redi"]);
        let found = |text: &str| revision(text, &rare, &asked);
        assert!(found("We use SQLite instead. No more Redis for us.").is_some());
        assert!(found("Scratch that! Redis is out.").is_some());
        assert_eq!(found("Use tabs instead of spaces."), None);
        assert_eq!(found("Redis is fine. It is fast. It is small. Use tabs instead."), None);
        assert_eq!(found("Redis stays for good."), None);
        assert_eq!(revision("The cache is slow, so we revert.", &rare, &asked), None);
    }

    #[test]
    fn each_revision_has_a_cue() {
        for phrase in REVISIONS {
            assert!(stems(phrase).iter().any(|stem| CUES.contains(&stem.as_str())), "{phrase}");
        }
    }
}
