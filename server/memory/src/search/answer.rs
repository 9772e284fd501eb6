//! Answers a query by sessions, with words that show why.
//!
//! It must never show a message that is not there any more.

use super::ask::Ask;
use super::catalog::found;
use super::judge::Judge;
use super::meant::Meant;
use super::memory::Memory;
use super::page::role_number;
use super::page::{kept, places};
use super::parts::MemoryError;
use super::query::{Answer, Filter, SessionHit, Snippet};
use super::rank::{Candidate, Ranked, Source};
use super::reach::Reach;
use super::scout::Scout;
use super::snippet::snippet;
use super::weights::{SESSION, SURE, TITLE, multiplier, recency};
use super::window::Window;
use crate::stores::{Message, Place, Role, read_again};

/// Snippets of a session.
const SNIPPETS: usize = 2;
/// What bytes that are only looked at for a phrase cost of those that are read as messages: the tenth part.
const SCOUTED_PARTS: usize = 10;

/// A message that was looked at closely.
pub(super) struct Judged {
    pub(super) message: Message,
    pub(super) file: u64,
    pub(super) score: f32,
}

/// A session whose messages were looked at closely.
struct Close {
    file: u64,
    score: f32,
    best: Vec<Judged>,
}

impl Memory {
    /// The sessions that answer a query best, what was said a moment ago included. Words between quotes must stand
    /// together.
    pub fn search(&mut self, query: &str, filter: &Filter, limit: usize) -> Result<Answer, MemoryError> {
        self.refresh()?;
        let ask = self.ask(query)?;
        if ask.wanted.is_empty() {
            return Ok(Answer::default());
        }
        let judge = Judge::new(&ask);
        let (mut answer, mut close) = self.closest(
            &judge,
            filter,
            limit,
            if ask.phrases.is_empty() { Reach::WORDS } else { Reach::PHRASE },
        )?;
        let is_unsure = ask.phrases.is_empty() && judge.share() < SURE && ask.telling().count_ones() > 1;
        let meanings = if is_unsure { self.meanings()? } else { None };
        if let Some(meanings) = meanings {
            let judge = Judge::by_meaning(&ask, Meant::new(&meanings, &ask));
            (answer, close) = self.closest(&judge, filter, limit, Reach::MEANING)?;
        }
        let most = close.first().map_or(1.0, |first| first.score);
        for found in close.into_iter().take(limit) {
            if let Some(hit) = self.session_hit(&found, &ask, most)? {
                answer.sessions.push(hit);
            }
        }
        Ok(answer)
    }

    /// Reads the best sessions and judges them; the closest first.
    fn closest(
        &self,
        judge: &Judge<'_>,
        filter: &Filter,
        limit: usize,
        reach: Reach,
    ) -> Result<(Answer, Vec<Close>), MemoryError> {
        let ask = judge.ask;
        let is_of_phrases = !ask.phrases.is_empty();
        let ranking = self.rank(ask, filter, limit, reach)?;
        let mut answer = Answer { total: ranking.total, ..Answer::default() };
        let mut budget = reach.bytes;
        let mut close: Vec<Close> = Vec::new();
        let mut gone = 0;
        let scout = Scout::new(ask);
        for ranked in &ranking.sessions {
            if budget == 0 {
                answer.is_cut = is_of_phrases;
                break;
            }
            match self.look(ranked, judge, &scout, filter, &mut budget)? {
                Some(found) => close.push(found),
                None => gone += 1,
            }
        }
        answer.is_cut |= is_of_phrases && ranking.sessions.len() < ranking.total;
        answer.total = if is_of_phrases { close.len() } else { answer.total - gone };
        if is_of_phrases || !filter.is_of_sessions() {
            answer.total = answer.total.max(close.len());
        }
        close.sort_by(|one, other| other.score.total_cmp(&one.score));
        Ok((answer, close))
    }

    /// Reads the best pages of a session; `None` if nothing there answers.
    fn look(
        &self,
        ranked: &Ranked,
        judge: &Judge<'_>,
        scout: &Scout,
        filter: &Filter,
        budget: &mut usize,
    ) -> Result<Option<Close>, MemoryError> {
        let (now, ask) = (self.parts.clock.now(), judge.ask);
        let mut best: Vec<Judged> = Vec::new();
        for candidate in &ranked.candidates {
            if *budget == 0 {
                break;
            }
            for message in self.scouted(candidate, scout, budget)? {
                *budget = budget.saturating_sub(message.text.len());
                if !filter.takes_message(&message) {
                    continue;
                }
                if let Some(score) = judge.judge(&message.text) {
                    let role = role_number(message.role);
                    let score = score * multiplier(role, recency(message.at, now));
                    best.push(Judged { message, file: candidate.file, score });
                }
            }
            if !ask.phrases.is_empty() && best.len() >= SNIPPETS {
                break;
            }
        }
        best.sort_by(|one, other| other.score.total_cmp(&one.score));
        best.truncate(SNIPPETS);
        let title = TITLE * ranked.title;
        let words = best.first().map_or(0.0, |first| first.score);
        let is_answer = !best.is_empty() || (title > 0.0 && ask.phrases.is_empty());
        let score = words + title + SESSION * ranked.coverage;
        Ok(is_answer.then_some(Close { file: ranked.file, score, best }))
    }

    /// The messages of a candidate; none if its bytes lack a phrase.
    fn scouted(
        &self,
        candidate: &Candidate,
        scout: &Scout,
        budget: &mut usize,
    ) -> Result<Vec<Message>, MemoryError> {
        self.messages_if(candidate, |bytes| {
            *budget = budget.saturating_sub(bytes.len() / SCOUTED_PARTS);
            bytes.is_empty() || scout.may_hold(bytes)
        })
    }

    /// All messages of a candidate.
    pub(super) fn messages(&self, candidate: &Candidate) -> Result<Vec<Message>, MemoryError> {
        self.messages_if(candidate, |_| true)
    }

    /// The messages of a candidate: what waits, what is kept, or what its file says if `is_wanted` takes its
    /// bytes.
    fn messages_if(
        &self,
        candidate: &Candidate,
        mut is_wanted: impl FnMut(&[u8]) -> bool,
    ) -> Result<Vec<Message>, MemoryError> {
        let address = match candidate.source {
            Source::Fresh(n) => {
                return Ok(self.fresh.get(n).map(|fresh| fresh.message.clone()).into_iter().collect());
            }
            Source::Page(address) => address,
        };
        let searcher = self.reader.searcher();
        let Some(entry) = self.catalog.files.get(&candidate.file) else { return Ok(Vec::new()) };
        let session = &entry.mark.session;
        if super::page::is_kept(session.agent) {
            return Ok(kept(&searcher.doc(address)?, self.fields));
        }
        let fast = searcher.segment_reader(address.segment_ord).fast_fields();
        let (line, nth) = (fast.u64("line")?, fast.u64("nth")?);
        let places = places(line.values_for_doc(address.doc_id), nth.values_for_doc(address.doc_id));
        let file = found(session);
        let window = Window::over(&*self.parts.files, &file.path, &places);
        if !is_wanted(window.bytes()) {
            return Ok(Vec::new());
        }
        let again = |place: Place| read_again(&window, &file, place).ok().flatten();
        Ok(places.into_iter().filter_map(again).collect())
    }

    fn session_hit(&self, found: &Close, ask: &Ask, most: f32) -> Result<Option<SessionHit>, MemoryError> {
        let Some(entry) = self.catalog.files.get(&found.file) else { return Ok(None) };
        let session = entry.mark.session.clone();
        let shown = found
            .best
            .iter()
            .map(|judged| Snippet { text: snippet(&judged.message.text, ask), role: judged.message.role });
        let mut snippets: Vec<Snippet> = shown.collect();
        if snippets.is_empty() {
            let text = session.title.clone().unwrap_or_default();
            snippets.push(Snippet { text, role: Role::Summary });
        }
        let superseded = match found.best.first() {
            Some(judged) => self.superseded(judged, ask)?,
            None => None,
        };
        Ok(Some(SessionHit { session, relevance: found.score / most, snippets, superseded }))
    }
}
