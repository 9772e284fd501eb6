//! Ranks messages by their words and their age.
//!
//! It must never read a file.

use std::collections::BTreeSet;
use std::ops::Bound;

use jiff::Timestamp;
use tantivy::Term;
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, ConstScoreQuery, Occur, Query, RangeQuery, TermQuery, TermSetQuery};
use tantivy::schema::IndexRecordOption;

use super::memory::Memory;
use super::parts::MemoryError;
use super::query::{Filter, Hit};
use crate::stores::{Place, Role};

/// Messages that are ranked by more than their words.
const CANDIDATES: usize = 200;
/// How much more a message of this moment counts than an old one.
const RECENCY: f32 = 0.3;
/// After how many days half of that is left.
const RECENCY_DAYS: f32 = 30.0;

impl Memory {
    pub(super) fn hits(&self, wanted: &[String], filter: &Filter) -> Result<Vec<Hit>, MemoryError> {
        let searcher = self.reader.searcher();
        let now = self.parts.clock.now();
        let mut hits = Vec::new();
        let top = TopDocs::with_limit(CANDIDATES).order_by_score();
        for (score, address) in searcher.search(&*self.query(wanted, filter), &top)? {
            let fast = searcher.segment_reader(address.segment_ord).fast_fields();
            let number = |name: &str| fast.u64(name).map(|column| column.first(address.doc_id).unwrap_or(0));
            let at = fast.i64("at")?.first(address.doc_id).and_then(|at| Timestamp::from_second(at).ok());
            let place = Place { line: number("line")?, nth: number("nth")? };
            hits.push(Hit { file: number("file")?, place, at, score });
        }
        let weights = wanted.iter().map(|word| {
            let found = searcher.doc_freq(&Term::from_field_text(self.fields.text, word)).unwrap_or(0);
            (word.clone(), weight(found, searcher.num_docs()))
        });
        let weights: Vec<(String, f32)> = weights.collect();
        for fresh in &self.fresh {
            let Some(entry) = self.catalog.files.get(&fresh.file) else { continue };
            let message = &fresh.message;
            if filter.takes(&entry.mark.session, message.role, message.at)
                && let Some(score) = fresh.score(&weights)
            {
                let (place, at) = (message.place, message.at);
                hits.push(Hit { file: fresh.file, place, at, score });
            }
        }
        for hit in &mut hits {
            hit.score *= 1.0 + RECENCY * recency(hit.at, now);
        }
        Ok(hits)
    }

    /// Without a filter the words alone are asked for, which lets the index skip what can't be among the best.
    fn query(&self, wanted: &[String], filter: &Filter) -> Box<dyn Query> {
        let term = |field, word: &str| -> Box<dyn Query> {
            Box::new(TermQuery::new(Term::from_field_text(field, word), IndexRecordOption::WithFreqs))
        };
        let any = wanted.iter().map(|word| (Occur::Should, term(self.fields.text, word))).collect();
        let union: Box<dyn Query> = Box::new(BooleanQuery::new(any));
        let mut must: Vec<Box<dyn Query>> = Vec::new();
        if let Some(agent) = filter.agent {
            must.push(term(self.fields.agent, agent.as_str()));
        }
        if let Some(role) = filter.role {
            must.push(term(self.fields.role, role_name(role)));
        }
        if filter.since.is_some() || filter.until.is_some() {
            let at = |at: Timestamp| Term::from_field_i64(self.fields.at, at.as_second());
            let since = filter.since.map_or(Bound::Unbounded, |since| Bound::Included(at(since)));
            let until = filter.until.map_or(Bound::Unbounded, |until| Bound::Excluded(at(until)));
            must.push(Box::new(RangeQuery::new(since, until)));
        }
        if filter.folder.is_some() {
            let own = Filter { folder: filter.folder.clone(), ..Filter::default() };
            let files = self.catalog.files.iter();
            let files = files.filter(|(_, entry)| own.takes(&entry.mark.session, Role::User, None));
            let numbers: BTreeSet<u64> = files.map(|(number, _)| *number).collect();
            let terms = numbers.into_iter().map(|number| Term::from_field_u64(self.fields.file, number));
            must.push(Box::new(TermSetQuery::new(terms)));
        }
        if must.is_empty() {
            return union;
        }
        let unscored = |query| -> Box<dyn Query> { Box::new(ConstScoreQuery::new(query, 0.0)) };
        let clauses = must.into_iter().map(|query| (Occur::Must, unscored(query)));
        Box::new(BooleanQuery::new(clauses.chain([(Occur::Must, union)]).collect()))
    }
}

pub(super) fn role_name(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
        Role::Summary => "summary",
    }
}

/// How much a word tells, by how many of all messages have it; as the index reckons.
#[expect(clippy::cast_precision_loss, reason = "a weight needs no more digits")]
fn weight(found: u64, all: u64) -> f32 {
    let (found, all) = (found as f32, all.max(found) as f32);
    (1.0 + (all - found + 0.5) / (found + 0.5)).ln()
}

/// From 1 for this moment down to 0 for long ago.
#[expect(clippy::cast_precision_loss, reason = "a weight needs no more digits")]
fn recency(at: Option<Timestamp>, now: Timestamp) -> f32 {
    const DAY_SECONDS: f32 = 86_400.0;
    let Some(at) = at else { return 0.0 };
    let days = (now.as_second() - at.as_second()).max(0) as f32 / DAY_SECONDS;
    0.5_f32.powf(days / RECENCY_DAYS)
}
