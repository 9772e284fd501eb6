//! Answers a query by sessions, with words that show why.
//!
//! It must never show a message that is not there any more.

use std::collections::BTreeMap;

use super::catalog::{found, key};
use super::fresh::Fresh;
use super::memory::Memory;
use super::parts::MemoryError;
use super::query::{Answer, Filter, Hit, SessionHit, Snippet};
use super::schema::words;
use super::snippet::snippet;
use crate::stores::{Found, Message, read_again};

/// Most words of a query.
const WORDS_MAX: usize = 16;
/// Snippets of a session.
const SNIPPETS: usize = 2;

impl Memory {
    /// The sessions that answer a query best, what was said a moment ago included. Words between quotes must stand
    /// together.
    pub fn search(&mut self, query: &str, filter: &Filter, limit: usize) -> Result<Answer, MemoryError> {
        self.refresh()?;
        let mut wanted = words(query);
        wanted.sort_unstable();
        wanted.dedup();
        wanted.truncate(WORDS_MAX);
        if wanted.is_empty() {
            return Ok(Answer::default());
        }
        let phrases: Vec<Vec<String>> = query.split('"').skip(1).step_by(2).map(words).collect();
        let hits = self.hits(&wanted, filter)?;
        let mut by_session: BTreeMap<String, Vec<Hit>> = BTreeMap::new();
        for hit in hits {
            if let Some(entry) = self.catalog.files.get(&hit.file) {
                by_session.entry(key(&entry.mark.session)).or_default().push(hit);
            }
        }
        let mut ranked: Vec<Vec<Hit>> = by_session.into_values().collect();
        for hits in &mut ranked {
            hits.sort_by(|one, other| other.score.total_cmp(&one.score));
        }
        ranked.sort_by(|one, other| other[0].score.total_cmp(&one[0].score));
        let mut answer = Answer { total: ranked.len(), ..Answer::default() };
        let best = ranked.first().map_or(1.0, |hits| hits[0].score);
        for hits in ranked {
            if answer.sessions.len() >= limit {
                break;
            }
            if let Some(found) = self.session_hit(&hits, &wanted, &phrases, best) {
                answer.sessions.push(found);
            } else {
                answer.total -= 1;
            }
        }
        Ok(answer)
    }

    fn session_hit(
        &self,
        hits: &[Hit],
        wanted: &[String],
        phrases: &[Vec<String>],
        best: f32,
    ) -> Option<SessionHit> {
        let session = &self.catalog.files.get(&hits.first()?.file)?.mark.session;
        let mut snippets = Vec::new();
        let looked_at = if phrases.is_empty() { SNIPPETS } else { hits.len() };
        for hit in hits.iter().take(looked_at) {
            let Some(message) = self.message(hit) else { continue };
            let has = |phrase: &Vec<String>| {
                phrase.is_empty() || words(&message.text).windows(phrase.len()).any(|found| found == *phrase)
            };
            if phrases.iter().all(has) {
                snippets.push(Snippet { text: snippet(&message.text, wanted), role: message.role });
            }
            if snippets.len() >= SNIPPETS {
                break;
            }
        }
        let is_answer = !snippets.is_empty();
        is_answer.then(|| SessionHit { session: session.clone(), relevance: hits[0].score / best, snippets })
    }

    /// The message of a hit: from what waits, or from its file.
    fn message(&self, hit: &Hit) -> Option<Message> {
        let is_it = |fresh: &&Fresh| fresh.file == hit.file && fresh.message.place == hit.place;
        if let Some(fresh) = self.fresh.iter().find(is_it) {
            return Some(fresh.message.clone());
        }
        let file: Found = found(&self.catalog.files.get(&hit.file)?.mark.session);
        read_again(&*self.parts.files, &file, hit.place).ok().flatten()
    }
}
