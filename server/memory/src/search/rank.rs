//! Ranks sessions by the pages that have the words of a query, all of them and not only the best.
//!
//! It must never read a file: what a text says more exactly is judged afterwards, for the best sessions alone.

use tantivy::fieldnorm::FieldNormReader;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocAddress, DocSet, SegmentReader, TERMINATED, Term};

use super::ask::{Ask, whole};
use super::groups::NONE;
use super::memory::Memory;
use super::page::role_number;
use super::parts::MemoryError;
use super::passing::Passing;
use super::query::Filter;
use super::reach::Reach;
use super::weights::{KIN, NEAR, TITLE, multiplier, recency};

/// The usual parameters of BM25. A page counts a word once.
const K1: f32 = 1.2;
const B: f32 = 0.75;
/// So many pages are ranked in two threads.
const MANY_PAGES: u64 = 100_000;
/// Pages of a session that are looked at more closely.
const PAGES_MAX: usize = 2;

/// What has words of the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// A page of the index.
    Page(DocAddress),
    /// A message that waits, by its number among them.
    Fresh(usize),
}

/// A page or a message with words of the query.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    pub(super) source: Source,
    pub(super) file: u64,
    pub(super) score: f32,
}

/// A session with words of the query.
#[derive(Debug, Clone)]
pub(super) struct Ranked {
    /// The best candidates, best first.
    pub(super) candidates: Vec<Candidate>,
    /// A file of it.
    pub(super) file: u64,
    /// What the words tell that the session has, in whichever message.
    pub(super) coverage: f32,
    /// What the words of its title tell.
    pub(super) title: f32,
}

/// The sessions with words of a query.
#[derive(Debug, Default)]
pub(super) struct Ranking {
    /// The best ones, best first.
    pub(super) sessions: Vec<Ranked>,
    /// How many there are.
    pub(super) total: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    best: f32,
    mask: u32,
    title: u32,
    file: u64,
    /// The best candidates, best first; of a query with a phrase all are kept beside.
    closest: [Option<Candidate>; PAGES_MAX],
}

impl Tally {
    fn add(&mut self, mask: u32, mut candidate: Candidate) {
        self.best = self.best.max(candidate.score);
        self.mask |= mask;
        self.file = candidate.file;
        for place in &mut self.closest {
            match place {
                Some(better) if better.score >= candidate.score => {}
                Some(worse) => std::mem::swap(worse, &mut candidate),
                None => {
                    *place = Some(candidate);
                    break;
                }
            }
        }
    }
}

/// What was found for each session, and for a phrase each page that may hold it.
struct Found {
    tallies: Vec<Tally>,
    all: Option<Vec<(u32, Candidate)>>,
}

impl Found {
    fn note(&mut self, group: u32, mask: u32, candidate: Candidate) {
        if let Some(tally) = self.tallies.get_mut(group as usize) {
            tally.add(mask, candidate);
            self.all.iter_mut().for_each(|all| all.push((group, candidate)));
        }
    }

    /// Adds what later segments tell, as if they had been looked into after these.
    fn join(&mut self, later: Self) {
        for (tally, later) in self.tallies.iter_mut().zip(later.tallies) {
            for candidate in later.closest.into_iter().flatten() {
                tally.add(later.mask, candidate);
            }
        }
        if let (Some(all), Some(later)) = (&mut self.all, later.all) {
            all.extend(later);
        }
    }
}

/// The pages of a segment with words of the query.
pub(super) struct Scored {
    scores: Vec<f32>,
    pub(super) masks: Vec<u32>,
}

impl Memory {
    /// The best sessions within `reach`, at least `limit`.
    pub(super) fn rank(
        &self,
        ask: &Ask,
        filter: &Filter,
        limit: usize,
        reach: Reach,
    ) -> Result<Ranking, MemoryError> {
        let of_file = self.groups_by_file(filter);
        let (must, telling) = (ask.phrase_mask(), ask.telling());
        let mut found = self.pages(ask, filter, &of_file, reach)?;
        for (n, fresh) in self.fresh.iter().enumerate() {
            let Some(group) = usize::try_from(fresh.file).ok().and_then(|file| of_file.get(file)) else {
                continue;
            };
            let (mask, score) = fresh_score(ask, fresh.stems());
            let message = &fresh.message;
            if *group == NONE || mask == 0 || mask & must != must || !filter.takes_message(message) {
                continue;
            }
            let score = score
                * whole(mask, telling)
                * multiplier(role_number(message.role), recency(message.at, self.parts.clock.now()));
            found.note(*group, mask, Candidate { source: Source::Fresh(n), file: fresh.file, score });
        }
        if must == 0 && filter.is_of_sessions() {
            for (file, mask) in self.groups.titled(ask.wanted.iter().map(|wanted| &*wanted.stem)) {
                let group =
                    usize::try_from(file).ok().and_then(|file| of_file.get(file)).copied().unwrap_or(NONE);
                if let Some(tally) = found.tallies.get_mut(group as usize) {
                    tally.title |= mask;
                    tally.file = file;
                }
            }
        }
        Ok(best(ask, found, limit.max(reach.sessions), reach.least_part))
    }

    /// What the pages of the index tell, in two threads where there are very many.
    fn pages(&self, ask: &Ask, filter: &Filter, of_file: &[u32], reach: Reach) -> Result<Found, MemoryError> {
        let searcher = self.reader.searcher();
        let segments: Vec<(u32, &SegmentReader)> = (0..).zip(searcher.segment_readers()).collect();
        let look = |segments: &[(u32, &SegmentReader)]| {
            let mut found = Found {
                tallies: vec![Tally::default(); self.groups.len()],
                all: reach.is_of_all_pages.then(Vec::new),
            };
            for (ord, segment) in segments {
                self.look_into((*ord, segment), ask, filter, of_file, &mut found)?;
            }
            Ok::<_, MemoryError>(found)
        };
        if searcher.num_docs() < MANY_PAGES {
            return look(&segments);
        }
        let half = searcher.num_docs() / 2;
        let mut before = 0;
        let mut is_first = |(_, segment): &(u32, &SegmentReader)| {
            before += u64::from(segment.num_docs());
            before <= half
        };
        let middle = segments.iter().take_while(|segment| is_first(segment)).count();
        let (one, other) = segments.split_at(middle);
        std::thread::scope(|scope| {
            let beside = scope.spawn(|| look(other));
            let found = look(one);
            let more = beside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            let mut found = found?;
            found.join(more);
            Ok(found)
        })
    }

    fn look_into(
        &self,
        (ord, segment): (u32, &SegmentReader),
        ask: &Ask,
        filter: &Filter,
        of_file: &[u32],
        found: &mut Found,
    ) -> Result<(), MemoryError> {
        let (must, telling) = (ask.phrase_mask(), ask.telling());
        let scored = self.scored(segment, ask)?;
        let has_words = |mask: u32| mask != 0 && mask & must == must;
        let masks = (0_u32..).zip(scored.masks.iter().copied());
        let pages: Vec<u32> = masks.filter(|(_, mask)| has_words(*mask)).map(|(page, _)| page).collect();
        Passing::of(segment, filter, self)?.pass(&pages, |doc, file, multiplier| {
            let group = usize::try_from(file).ok().and_then(|file| of_file.get(file)).copied();
            if let Some(group) = group.filter(|group| *group != NONE) {
                let mask = scored.masks[doc as usize];
                let score = scored.scores[doc as usize] * multiplier * whole(mask, telling);
                let source = Source::Page(DocAddress::new(ord, doc));
                found.note(group, mask, Candidate { source, file, score });
            }
        });
        Ok(())
    }

    /// The session of each file that passes; [`NONE`] for the others.
    fn groups_by_file(&self, filter: &Filter) -> Vec<u32> {
        let mut of_file = Vec::new();
        for (number, entry) in &self.catalog.files {
            let Ok(number) = usize::try_from(*number) else { continue };
            if of_file.len() <= number {
                of_file.resize(number + 1, NONE);
            }
            if filter.takes_session(&entry.mark.session) {
                of_file[number] = self.groups.group(number as u64);
            }
        }
        of_file
    }

    pub(super) fn scored(&self, segment: &SegmentReader, ask: &Ask) -> Result<Scored, MemoryError> {
        let pages = segment.max_doc() as usize;
        let mut scored = Scored { scores: vec![0.0; pages], masks: vec![0; pages] };
        let inverted = segment.inverted_index(self.fields.text)?;
        let norms = segment.get_fieldnorms_reader(self.fields.text)?;
        let by_norm = by_norm(average(inverted.total_num_tokens(), segment.max_doc()));
        for (bit, wanted) in ask.wanted.iter().enumerate() {
            let near = wanted.near.iter().map(|stem| (stem, wanted.weight * NEAR));
            let kin = wanted.kin.iter().map(|stem| (stem, wanted.weight * KIN));
            for (stem, weight) in std::iter::once((&wanted.stem, wanted.weight)).chain(kin).chain(near) {
                let term = Term::from_field_text(self.fields.text, stem);
                let Some(mut pages) = inverted.read_postings(&term, IndexRecordOption::Basic)? else {
                    continue;
                };
                let mut doc = pages.doc();
                while doc != TERMINATED {
                    let at = doc as usize;
                    scored.scores[at] += weight * by_norm[usize::from(norms.fieldnorm_id(doc))];
                    scored.masks[at] |= 1 << bit;
                    doc = pages.advance();
                }
            }
        }
        if let Some(alive) = segment.alive_bitset() {
            for (doc, mask) in (0_u32..).zip(&mut scored.masks) {
                if alive.is_deleted(doc) {
                    *mask = 0;
                }
            }
        }
        Ok(scored)
    }
}

/// The best sessions of those with at least a part of what the words of the best covered one tell.
fn best(ask: &Ask, found: Found, limit: usize, least_part: f32) -> Ranking {
    let Found { tallies, all } = found;
    let covered: Vec<f32> = tallies.iter().map(|tally| ask.coverage(tally.mask | tally.title)).collect();
    let least = covered.iter().copied().fold(0.0, f32::max) * least_part;
    let mut order: Vec<(u32, f32)> = Vec::new();
    for ((group, tally), coverage) in (0_u32..).zip(&tallies).zip(&covered) {
        if *coverage > 0.0 && *coverage >= least {
            order.push((
                group,
                tally.best + TITLE * ask.coverage(tally.title) + super::weights::SESSION * coverage,
            ));
        }
    }
    let total = order.len();
    order.sort_by(|one, other| other.1.total_cmp(&one.1).then(other.0.cmp(&one.0)));
    order.truncate(limit);
    // Nearly all pages may be among all, so the place of their session is looked up by its number.
    let mut places = vec![usize::MAX; tallies.len()];
    order.iter().enumerate().for_each(|(place, (group, _))| places[*group as usize] = place);
    let mut by_place: Vec<Vec<Candidate>> = vec![Vec::new(); order.len()];
    for (group, candidate) in all.iter().flatten() {
        if let Some(of_place) = by_place.get_mut(places[*group as usize]) {
            of_place.push(*candidate);
        }
    }
    let sessions = order.into_iter().zip(by_place).map(|((group, _), mut candidates)| {
        let tally = &tallies[group as usize];
        if all.is_none() {
            candidates.extend(tally.closest.iter().flatten());
        }
        candidates.sort_by(|one, other| other.score.total_cmp(&one.score));
        let (coverage, title) = (covered[group as usize], ask.coverage(tally.title));
        Ranked { candidates, file: tally.file, coverage, title }
    });
    Ranking { sessions: sessions.collect(), total }
}

fn fresh_score(ask: &Ask, stems: &std::collections::BTreeSet<String>) -> (u32, f32) {
    let (mut mask, mut score) = (0, 0.0);
    for (bit, wanted) in ask.wanted.iter().enumerate() {
        if stems.contains(&wanted.stem) {
            mask |= 1 << bit;
            score += wanted.weight;
        } else if wanted.kin.iter().any(|stem| stems.contains(stem)) {
            mask |= 1 << bit;
            score += wanted.weight * KIN;
        } else if wanted.near.iter().any(|stem| stems.contains(stem)) {
            mask |= 1 << bit;
            score += wanted.weight * NEAR;
        }
    }
    (mask, score)
}

/// Words of an average page.
#[expect(clippy::cast_precision_loss, reason = "a weight needs no more digits")]
fn average(words: u64, pages: u32) -> f32 {
    (words as f32 / pages.max(1) as f32).max(1.0)
}

/// What a word counts in a page, by the number that stands for the page's length.
#[expect(clippy::cast_precision_loss, reason = "a weight needs no more digits")]
fn by_norm(average: f32) -> Vec<f32> {
    let count = |id: u8| {
        let words = FieldNormReader::id_to_fieldnorm(id) as f32;
        (K1 + 1.0) / (1.0 + K1 * (1.0 - B + B * words / average))
    };
    (0..=u8::MAX).map(count).collect()
}

#[cfg(test)]
mod tests;
