//! The index of all sessions, kept up to date by each process that asks.
//!
//! A query first reads what the files have gained. A little is held beside the index and found there; much is committed.
//! It must never hold two processes' commits at once: a lock in the home folder decides whose turn it is.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Bound;
use std::path::PathBuf;
use std::sync::Arc;

use entraclaw_seams::clock::Clock;
use entraclaw_seams::storage::{Lock, Stamp, Storage};
use jiff::Timestamp;
use tantivy::collector::TopDocs;
use tantivy::directory::{MmapDirectory, RamDirectory};
use tantivy::query::{BooleanQuery, ConstScoreQuery, Occur, Query, RangeQuery, TermQuery, TermSetQuery};
use tantivy::schema::IndexRecordOption;
use tantivy::{Index, IndexReader, IndexWriter, ReloadPolicy, TantivyDocument, Term};

use super::catalog::{Catalog, Entry, found, key};
use super::fresh::{Fresh, MESSAGES_MAX};
use super::query::{Answer, Filter, Hit, SessionHit, Snippet};
use super::schema::{Fields, WORDS, analyzer, schema, words};
use super::snippet::snippet;
use crate::files::Files;
use crate::stores::{
    Agent, Batch, Found, Homes, Message, Place, Role, Session, Tally, find, read, read_again,
};

/// Memory of the writer.
const WRITER_BYTES: usize = 24 * 1024 * 1024;
/// Most words of a query.
const WORDS_MAX: usize = 16;
/// Messages that are ranked by more than their words.
const CANDIDATES: usize = 200;
/// Snippets of a session.
const SNIPPETS: usize = 2;
/// How much more a message of this moment counts than an old one.
const RECENCY: f32 = 0.3;
/// After how many days half of that is left.
const RECENCY_DAYS: f32 = 30.0;
/// Messages that wait at most while another process commits; what comes after them is read later.
const WAITING_MAX: usize = 8 * MESSAGES_MAX;
/// How long the beginning of an index waits for another process.
const TURN_WAIT_MS: u64 = 30_000;
const LOCK: &str = "memory/lock";

/// Where the index is.
#[derive(Debug, Clone)]
pub enum IndexPlace {
    /// A folder below the home folder, which belongs to this user alone.
    Folder(PathBuf),
    /// The memory of this process.
    Memory,
}

/// What [`Memory`] is made of.
pub struct MemoryParts {
    /// The home folder.
    pub storage: Arc<dyn Storage>,
    /// The files of the agents.
    pub files: Arc<dyn Files>,
    /// Where the agents keep their sessions.
    pub homes: Homes,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Where the index is.
    pub index: IndexPlace,
}

/// Why the memory can't be searched.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The home folder fails.
    #[error("the folder of the search can't be used: {0}; check its disk and its permissions")]
    Disk(#[from] io::Error),
    /// The index fails.
    #[error(
        "the index of the search fails: {0}; remove the folder `memory` in the home folder, it is made anew"
    )]
    Index(#[from] tantivy::TantivyError),
}

/// What reading the files brought.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Refreshed {
    /// Files that have changed.
    pub files: usize,
    /// Messages in them that are new.
    pub messages: usize,
    /// Files and folders that can't be read, each with the reason.
    pub troubles: Vec<(PathBuf, String)>,
    /// What was not understood, by agent.
    pub tallies: BTreeMap<Agent, Tally>,
}

/// All sessions of this machine.
pub struct Memory {
    parts: MemoryParts,
    index: Index,
    reader: IndexReader,
    fields: Fields,
    catalog: Catalog,
    /// The file of the catalog when it was last read or written.
    seen: Option<Stamp>,
    fresh: Vec<Fresh>,
    /// Numbers of files that count no more, whose messages the index still holds.
    dead: Vec<u64>,
}

impl Memory {
    /// Opens the index, and makes it if there is none of this format.
    pub fn open(parts: MemoryParts) -> Result<Self, MemoryError> {
        let (schema, fields) = schema();
        let make = |place: &IndexPlace| -> Result<Index, tantivy::TantivyError> {
            match place {
                IndexPlace::Folder(folder) => {
                    Index::open_or_create(MmapDirectory::open(folder)?, schema.clone())
                }
                IndexPlace::Memory => Index::open_or_create(RamDirectory::create(), schema.clone()),
            }
        };
        let index = make(&parts.index)?;
        index.tokenizers().register(WORDS, analyzer());
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let seen = Catalog::stamp(&*parts.storage)?;
        let catalog = Catalog::load(&*parts.storage)?;
        let mut memory =
            Self { parts, index, reader, fields, catalog, seen, fresh: Vec::new(), dead: Vec::new() };
        if memory.generation()? != memory.catalog.generation {
            memory.begin_anew()?;
        }
        Ok(memory)
    }

    /// The number of the commit that the index holds.
    fn generation(&self) -> Result<u64, MemoryError> {
        let payload = self.index.load_metas()?.payload;
        Ok(payload.and_then(|payload| payload.parse().ok()).unwrap_or(0))
    }

    /// Empties an index that its catalog does not belong to: another format, a crash between the two, or a removed file.
    fn begin_anew(&mut self) -> Result<(), MemoryError> {
        self.parts.storage.create_dir("memory")?;
        let Some(_lock) = self.parts.storage.lock(LOCK, TURN_WAIT_MS)? else {
            let problem = "another process has indexed the sessions for long; try again";
            return Err(io::Error::new(io::ErrorKind::WouldBlock, problem).into());
        };
        // The other process may have finished meanwhile.
        self.catalog = Catalog::load(&*self.parts.storage)?;
        self.reader.reload()?;
        if self.generation()? == self.catalog.generation {
            return Ok(());
        }
        self.catalog.begin_anew();
        let writer = self.writer()?;
        writer.delete_all_documents()?;
        self.commit(writer)
    }

    /// Takes over what another process has committed. What waits here is in it, or is read again.
    fn catch_up(&mut self) -> Result<(), MemoryError> {
        let now = Catalog::stamp(&*self.parts.storage)?;
        if now == self.seen {
            return Ok(());
        }
        self.seen = now;
        let catalog = Catalog::load(&*self.parts.storage)?;
        if catalog.generation != self.catalog.generation {
            self.catalog = catalog;
            self.fresh.clear();
            self.dead.clear();
            self.reader.reload()?;
        }
        Ok(())
    }

    /// Takes the turn to commit; `None` if another process has it, or has had it since the last look.
    fn turn(&self) -> Result<Option<Box<dyn Lock>>, MemoryError> {
        self.parts.storage.create_dir("memory")?;
        let lock = self.parts.storage.try_lock(LOCK)?;
        let is_current = Catalog::stamp(&*self.parts.storage)? == self.seen;
        Ok(lock.filter(|_| is_current))
    }

    fn writer(&self) -> Result<IndexWriter, MemoryError> {
        Ok(self.index.writer_with_num_threads(1, WRITER_BYTES)?)
    }

    fn commit(&mut self, mut writer: IndexWriter) -> Result<(), MemoryError> {
        for number in std::mem::take(&mut self.dead) {
            writer.delete_term(Term::from_field_u64(self.fields.file, number));
        }
        self.catalog.generation += 1;
        let mut commit = writer.prepare_commit()?;
        commit.set_payload(&self.catalog.generation.to_string());
        commit.commit()?;
        self.catalog.save(&*self.parts.storage)?;
        self.seen = Catalog::stamp(&*self.parts.storage)?;
        writer.wait_merging_threads()?;
        self.reader.reload()?;
        Ok(())
    }

    /// Reads what the agents' files have gained. Much of it is committed at once; a little waits for more.
    pub fn refresh(&mut self) -> Result<Refreshed, MemoryError> {
        self.catch_up()?;
        let (all, troubles) = find(&*self.parts.files, &self.parts.homes);
        let mut done = Refreshed { troubles, ..Refreshed::default() };
        let mut gone = self.catalog.by_path();
        let mut bulk: Option<(IndexWriter, Box<dyn Lock>)> = None;
        let mut is_cut = false;
        for file in all {
            if self.fresh.len() > WAITING_MAX {
                is_cut = true;
                break;
            }
            let number = gone.remove(&file.path);
            let mark = number.and_then(|number| self.catalog.files.get(&number)).map(|entry| &entry.mark);
            let batch = match read(&*self.parts.files, &file, mark) {
                Ok(Some(batch)) => batch,
                Ok(None) => continue,
                Err(error) => {
                    done.troubles.push((file.path, error.to_string()));
                    continue;
                }
            };
            done.files += 1;
            done.messages += batch.messages.len();
            done.tallies.entry(file.agent).or_default().add(&batch.tally);
            self.take(number, batch);
            if self.fresh.len() > MESSAGES_MAX && bulk.is_none() {
                let lock = self.turn()?;
                bulk = lock.map(|lock| self.writer().map(|writer| (writer, lock))).transpose()?;
            }
            if let Some((writer, _)) = &bulk {
                self.drain(writer)?;
            }
        }
        if !is_cut {
            for number in gone.into_values() {
                self.drop_file(number);
            }
        }
        if let Some((writer, _lock)) = bulk {
            self.commit(writer)?;
        }
        Ok(done)
    }

    /// Commits what waits.
    pub fn flush(&mut self) -> Result<(), MemoryError> {
        if self.fresh.is_empty() && self.dead.is_empty() {
            return Ok(());
        }
        let Some(_lock) = self.turn()? else { return Ok(()) };
        let writer = self.writer()?;
        self.drain(&writer)?;
        self.commit(writer)
    }

    /// Forgets a session for ever, from the index and from what waits.
    pub fn forget(&mut self, session: &Session) -> Result<(), MemoryError> {
        self.catalog.forgotten.insert(key(session));
        let files = self.catalog.files.iter();
        let numbers: Vec<u64> = files
            .filter(|(_, entry)| key(&entry.mark.session) == key(session))
            .map(|(number, _)| *number)
            .collect();
        self.fresh.retain(|fresh| !numbers.contains(&fresh.file));
        self.dead.extend(numbers);
        self.flush()
    }

    fn take(&mut self, number: Option<u64>, batch: Batch) {
        let number = match number {
            Some(number) if !batch.is_from_start => number,
            old => {
                if let Some(number) = old {
                    self.drop_file(number);
                }
                self.catalog.next_number()
            }
        };
        if !self.catalog.is_forgotten(batch.session()) {
            self.fresh.extend(batch.messages.into_iter().map(|message| Fresh::new(number, message)));
        }
        self.catalog.files.insert(number, Entry { mark: batch.mark });
    }

    fn drop_file(&mut self, number: u64) {
        self.catalog.files.remove(&number);
        self.fresh.retain(|fresh| fresh.file != number);
        self.dead.push(number);
    }

    /// Hands what waits to the writer.
    fn drain(&mut self, writer: &IndexWriter) -> Result<(), MemoryError> {
        for fresh in self.fresh.drain(..) {
            let Some(entry) = self.catalog.files.get(&fresh.file) else { continue };
            let mut document = TantivyDocument::new();
            document.add_text(self.fields.text, &fresh.message.text);
            document.add_u64(self.fields.file, fresh.file);
            document.add_u64(self.fields.line, fresh.message.place.line);
            document.add_u64(self.fields.nth, fresh.message.place.nth);
            if let Some(at) = fresh.message.at {
                document.add_i64(self.fields.at, at.as_second());
            }
            document.add_text(self.fields.agent, entry.mark.session.agent.as_str());
            document.add_text(self.fields.role, role_name(fresh.message.role));
            writer.add_document(document)?;
        }
        Ok(())
    }

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

    fn hits(&self, wanted: &[String], filter: &Filter) -> Result<Vec<Hit>, MemoryError> {
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

fn role_name(role: Role) -> &'static str {
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
