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
use crate::meanings::Meanings;
use crate::stores::{Message, Place, Role, read_again};

/// Snippets of a session.
const SNIPPETS: usize = 2;
/// So many sessions are read in two threads, each of them half of the sessions and of the bytes.
const MANY_SESSIONS: usize = 16;
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

/// What was found in a portion of the best sessions.
#[derive(Default)]
struct Portion {
    /// The sessions that answer, each with its place among the best ones.
    close: Vec<(usize, Close)>,
    /// How many do not.
    gone: usize,
    /// Whether there were more than may be read.
    is_cut: bool,
    /// The largest part of the words that a sentence has had.
    share: f32,
}

impl Portion {
    fn join(mut self, other: Self) -> Self {
        self.close.extend(other.close);
        let (gone, is_cut) = (self.gone + other.gone, self.is_cut || other.is_cut);
        Self { gone, is_cut, share: self.share.max(other.share), ..self }
    }
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
        let is_of_phrases = !ask.phrases.is_empty();
        let reach = if is_of_phrases { Reach::PHRASE } else { Reach::WORDS };
        let (mut answer, mut close, share) = self.closest(&ask, None, filter, limit, reach)?;
        let is_unsure = !is_of_phrases && share < SURE && ask.telling().count_ones() > 1;
        let meanings = if is_unsure { self.meanings()? } else { None };
        if let Some(meanings) = meanings {
            (answer, close, _) = self.closest(&ask, Some(&meanings), filter, limit, Reach::MEANING)?;
        }
        let most = close.first().map_or(1.0, |first| first.score);
        for found in close.into_iter().take(limit) {
            if let Some(hit) = self.session_hit(&found, &ask, most)? {
                answer.sessions.push(hit);
            }
        }
        Ok(answer)
    }

    /// Reads the best sessions and judges them; the closest first, with the largest part of the words that a sentence has had.
    fn closest(
        &self,
        ask: &Ask,
        meanings: Option<&Meanings>,
        filter: &Filter,
        limit: usize,
        reach: Reach,
    ) -> Result<(Answer, Vec<Close>, f32), MemoryError> {
        let is_of_phrases = !ask.phrases.is_empty();
        let ranking = self.rank(ask, filter, limit, reach)?;
        let read = |part: usize, parts: usize| {
            let sessions = ranking.sessions.iter().enumerate().skip(part).step_by(parts);
            self.portion(sessions, ask, meanings, filter, reach.bytes / parts)
        };
        let mut whole = if ranking.sessions.len() < MANY_SESSIONS {
            read(0, 1)?
        } else {
            std::thread::scope(|scope| {
                let beside = scope.spawn(|| read(1, 2));
                let one = read(0, 2);
                let other = beside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
                one.map(|one| one.join(other))
            })?
        };
        let is_cut = is_of_phrases && (whole.is_cut || ranking.sessions.len() < ranking.total);
        let found = whole.close.len();
        let mut total = if is_of_phrases { found } else { ranking.total - whole.gone };
        if is_of_phrases || !filter.is_of_sessions() {
            total = total.max(found);
        }
        whole.close.sort_by(|(place, one), (other_place, other)| {
            other.score.total_cmp(&one.score).then(place.cmp(other_place))
        });
        let close = whole.close.into_iter().map(|(_, close)| close).collect();
        Ok((Answer { total, is_cut, ..Answer::default() }, close, whole.share))
    }

    /// Reads some of the best sessions, each with its place among them, and judges them.
    fn portion<'r>(
        &self,
        sessions: impl Iterator<Item = (usize, &'r Ranked)>,
        ask: &Ask,
        meanings: Option<&Meanings>,
        filter: &Filter,
        mut budget: usize,
    ) -> Result<Portion, MemoryError> {
        let judge = Judge::new(ask, meanings.map(|meanings| Meant::new(meanings, ask)));
        let scout = Scout::new(ask);
        let mut portion = Portion::default();
        for (place, ranked) in sessions {
            if budget == 0 {
                portion.is_cut = true;
                break;
            }
            match self.look(ranked, &judge, &scout, filter, &mut budget)? {
                Some(found) => portion.close.push((place, found)),
                None => portion.gone += 1,
            }
        }
        portion.share = judge.share();
        Ok(portion)
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

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::machine::{Machine, message};
    use super::*;

    fn portion(places: &[usize], gone: usize, is_cut: bool, share: f32) -> Portion {
        let close = |place: &usize| (*place, Close { file: *place as u64, score: 0.0, best: Vec::new() });
        Portion { close: places.iter().map(close).collect(), gone, is_cut, share }
    }

    #[rstest]
    #[case::none_is_cut(false, false, false)]
    #[case::the_first_is_cut(true, false, true)]
    #[case::the_other_is_cut(false, true, true)]
    fn two_portions_have_what_each_of_them_has(#[case] one: bool, #[case] other: bool, #[case] is_cut: bool) {
        for (first, second) in [(0.25, 0.75), (0.75, 0.25)] {
            let joined = portion(&[0, 2], 3, one, first).join(portion(&[1], 4, other, second));
            let places: Vec<usize> = joined.close.iter().map(|(place, _)| *place).collect();
            assert_eq!((places, joined.gone, joined.is_cut), (vec![0, 2, 1], 7, is_cut));
            assert!((joined.share - 0.75).abs() < f32::EPSILON);
        }
    }

    fn waiting(texts: &[&str]) -> (Memory, Ranked) {
        let machine = Machine::new();
        for text in texts {
            machine.say("one", "user", text, None);
        }
        let mut memory = machine.open();
        memory.refresh().unwrap();
        let candidate = |n| Candidate { source: Source::Fresh(n), file: 1, score: 0.0 };
        let candidates = (0..texts.len()).map(candidate).collect();
        (memory, Ranked { candidates, file: 1, coverage: 0.0, title: 0.0 })
    }

    fn look(memory: &Memory, ranked: &Ranked, query: &str, mut budget: usize) -> (Vec<String>, usize) {
        let ask = memory.ask(query).unwrap();
        let (judge, scout) = (Judge::new(&ask, None), Scout::new(&ask));
        let found = memory.look(ranked, &judge, &scout, &Filter::default(), &mut budget).unwrap();
        let best = found.map(|found| found.best).unwrap_or_default();
        (best.into_iter().map(|judged| judged.message.text).collect(), budget)
    }

    #[test]
    fn the_best_two_messages_are_taken_of_as_many_as_may_be_read() {
        let (memory, ranked) = waiting(&["lock", "other", "file lock", "the file, lock", "lock file"]);
        let bytes = "lockotherfile lock".len();
        for (budget, texts, left) in [
            (1_000, &["file lock", "the file, lock"][..], 1_000 - bytes - "the file, locklock file".len()),
            (bytes, &["file lock", "lock"], 0),
            // What is begun is read to its end.
            (bytes - 1, &["file lock", "lock"], 0),
            ("lockother".len(), &["lock"], 0),
            (0, &[], 0),
        ] {
            let found = look(&memory, &ranked, "file lock", budget);
            assert_eq!(found, (texts.iter().map(|text| (*text).to_owned()).collect(), left), "{budget}");
        }
    }

    #[test]
    fn the_search_for_a_phrase_ends_with_as_many_messages_as_are_shown() {
        let (memory, ranked) = waiting(&["file lock", "no", "a file lock", "more of the file lock"]);
        let read = "file locknoa file lock".len();
        let (texts, left) = look(&memory, &ranked, "\"file lock\"", 1_000);
        assert_eq!((texts.len(), left), (2, 1_000 - read));
        assert!(!texts.contains(&"more of the file lock".to_owned()), "{texts:?}");
    }

    /// The answer to a query in so many sessions of so many bytes.
    fn answered(query: &str, sessions: usize, bytes: usize) -> Answer {
        let machine = Machine::new();
        let text = format!("the file lock {}", "x ".repeat(bytes / 2));
        (0..sessions).for_each(|n| machine.say(&format!("s{n}"), "user", &text, None));
        machine.open().search(query, &Filter::default(), 9).unwrap()
    }

    #[rstest]
    #[case::few(9, 100, 9, false)]
    #[case::in_two_threads(40, 100, 40, false)]
    #[case::as_many_as_are_looked_at(1_000, 0, 1_000, false)]
    #[case::one_more(1_001, 0, 1_000, true)]
    #[case::more_bytes_than_are_read(40, 20_000, 20, true)]
    fn it_is_told_where_not_all_places_of_a_phrase_were_looked_at(
        #[case] sessions: usize,
        #[case] bytes: usize,
        #[case] found: usize,
        #[case] is_cut: bool,
    ) {
        let answer = answered("\"file lock\"", sessions, bytes);
        assert_eq!((answer.sessions.len(), answer.total, answer.is_cut), (9, found, is_cut));
        // Without a phrase all are counted, however many are read.
        let answer = answered("file lock", sessions, bytes);
        assert_eq!((answer.total, answer.is_cut), (sessions, false));
    }

    #[test]
    fn what_is_only_looked_at_for_a_phrase_costs_a_tenth_of_what_is_read() {
        let machine = Machine::new();
        for text in ["the lock of a file", "file and lock"] {
            machine.say("one", "user", text, None);
        }
        let mut memory = machine.open();
        memory.refresh().unwrap();
        memory.flush().unwrap();
        let ask = memory.ask("\"file lock\"").unwrap();
        let mut ranking = memory.rank(&ask, &Filter::default(), 9, Reach::PHRASE).unwrap();
        let ranked = ranking.sessions.remove(0);
        let bytes = machine.storage.bytes(&Machine::path("one")).unwrap().len();
        let left = |budget: usize| look(&memory, &ranked, "\"file lock\"", budget).1;
        assert_eq!((left(1_000), left(1)), (1_000 - bytes / 10, 0));
        let words = look(&memory, &ranked, "file lock", 1_000);
        assert_eq!(words.1, 1_000 - bytes / 10 - "the lock of a filefile and lock".len());
        assert_eq!(words.0.len(), 2);
    }

    #[test]
    fn a_title_with_words_of_the_query_is_an_answer_and_counts_beside_its_messages() {
        let (memory, ranked) = waiting(&["file"]);
        let found = |query: &str, title: f32, coverage: f32, is_read: bool| {
            let ask = memory.ask(query).unwrap();
            let candidates = if is_read { ranked.candidates.clone() } else { Vec::new() };
            let ranked = Ranked { candidates, file: 1, coverage, title };
            let (judge, scout) = (Judge::new(&ask, None), Scout::new(&ask));
            let found = memory.look(&ranked, &judge, &scout, &Filter::default(), &mut 99).unwrap();
            found.map(|found| found.score)
        };
        assert_eq!(found("file", 0.0, 1.0, false), None);
        assert_eq!(found("\"file lock\"", 1.0, 1.0, false), None);
        let (title, both) = (found("file", 1.0, 0.0, false), found("file", 1.0, 1.0, false));
        assert!(title > Some(0.0) && both > title);
        let (said, titled) = (found("file", 0.0, 0.0, true), found("file", 1.0, 0.0, true));
        let added = titled.unwrap() - said.unwrap() - title.unwrap();
        assert!(added.abs() < 1e-4, "{said:?} {titled:?} {title:?}");
    }

    #[test]
    fn relevance_is_told_beside_the_best_and_a_title_is_shown_where_it_alone_answers() {
        let (memory, _) = waiting(&["file lock"]);
        let ask = memory.ask("lock").unwrap();
        let judged = |text: &str| Judged { message: message(Role::Assistant, text), file: 1, score: 1.0 };
        let hit = |file: u64, best: Vec<Judged>| {
            memory.session_hit(&Close { file, score: 1.0, best }, &ask, 4.0).unwrap()
        };
        let shown = hit(1, vec![judged("a lock"), judged("the lock")]).unwrap();
        assert!((shown.relevance - 0.25).abs() < f32::EPSILON);
        let texts: Vec<(&str, Role)> =
            shown.snippets.iter().map(|snippet| (snippet.text.as_str(), snippet.role)).collect();
        assert_eq!(texts, [("a lock", Role::Assistant), ("the lock", Role::Assistant)]);
        let title = hit(1, Vec::new()).unwrap();
        assert_eq!((title.snippets[0].text.as_str(), title.snippets[0].role), ("file lock", Role::Summary));
        assert_eq!(hit(99, Vec::new()), None);
    }
}
