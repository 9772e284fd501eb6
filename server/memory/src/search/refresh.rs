//! Reads what the agents' files have gained, into the index or beside it.
//!
//! It must never hold more than a bounded number of messages beside the index.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use entraclaw_seams::storage::Lock;
use tantivy::IndexWriter;

use super::catalog::Entry;
use super::fresh::{Fresh, MESSAGES_MAX};
use super::memory::Memory;
use super::page::Pages;
use super::parts::MemoryError;
use crate::stores::{Agent, Batch, Tally, find, read};

/// Messages that wait at most while another process commits; what comes after them is read later.
const WAITING_MAX: usize = 8 * MESSAGES_MAX;

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
/// Bytes of texts that wait to be indexed at most.
const QUEUED_BYTES_MAX: usize = 16 * 1024 * 1024;

impl Memory {
    /// Reads what the agents' files have gained. Much of it is committed at once; a little waits for more.
    pub fn refresh(&mut self) -> Result<Refreshed, MemoryError> {
        self.catch_up()?;
        let (all, troubles) = find(&*self.parts.files, &self.parts.homes);
        let mut done = Refreshed { troubles, ..Refreshed::default() };
        let mut seen: BTreeSet<u64> = BTreeSet::new();
        let known: Vec<u64> = self.catalog.files.keys().copied().collect();
        let mut bulk: Option<(IndexWriter, Box<dyn Lock>)> = None;
        let (mut is_cut, mut queued) = (false, 0);
        for file in all {
            if self.fresh.len() > WAITING_MAX {
                is_cut = true;
                break;
            }
            let number = self.groups.number(&file.path);
            seen.extend(number);
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
            if let Some((writer, _)) = &mut bulk {
                let texts = self.fresh.iter().map(|fresh| fresh.message.text.len());
                queued += texts.sum::<usize>();
                self.drain(writer)?;
                if queued > QUEUED_BYTES_MAX {
                    // It waits until the queue is empty. Without this the queue would hold all that is read.
                    writer.prepare_commit()?;
                    queued = 0;
                }
            }
        }
        if !is_cut {
            let gone = known.into_iter().filter(|number| !seen.contains(number));
            gone.for_each(|number| self.drop_file(number));
        }
        if let Some((writer, _lock)) = bulk {
            self.commit(writer, done.messages)?;
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
        let messages = self.fresh.len();
        self.drain(&writer)?;
        self.commit(writer, messages)
    }

    fn take(&mut self, number: Option<u64>, batch: Batch) {
        let mut is_forgotten = false;
        let number = match number {
            Some(number) if !batch.is_from_start => {
                is_forgotten = self.catalog.files.get(&number).is_some_and(|entry| entry.is_forgotten);
                number
            }
            old => {
                if let Some(number) = old {
                    self.drop_file(number);
                }
                self.catalog.next_number()
            }
        };
        let Batch { mark, mut messages, .. } = batch;
        let mut entry = Entry { mark, is_forgotten };
        if is_forgotten || self.rules.forgets_session(&entry.mark.session) {
            entry.forget();
        } else {
            self.rules.clean(&mut entry.mark.session, &mut messages);
            self.fresh.extend(messages.into_iter().map(|message| Fresh::new(number, message)));
        }
        self.groups.set(number, &entry.mark.session);
        self.catalog.files.insert(number, entry);
    }

    pub(super) fn drop_file(&mut self, number: u64) {
        if let Some(entry) = self.catalog.files.remove(&number) {
            self.groups.remove(number, &entry.mark.session.file);
        }
        self.fresh.retain(|fresh| fresh.file != number);
        self.dead.push(number);
    }

    /// Hands what waits to the writer.
    pub(super) fn drain(&mut self, writer: &IndexWriter) -> Result<(), MemoryError> {
        let mut waiting = std::mem::take(&mut self.fresh);
        waiting.sort_by_key(|fresh| fresh.file);
        let mut pages: Option<Pages<'_>> = None;
        for fresh in waiting {
            let Some(entry) = self.catalog.files.get(&fresh.file) else { continue };
            if pages.as_ref().is_none_or(|pages| pages.file() != fresh.file) {
                if let Some(pages) = pages.take() {
                    pages.finish()?;
                }
                let agent = entry.mark.session.agent;
                pages = Some(Pages::new(writer, self.fields, fresh.file, agent));
            }
            if let Some(pages) = &mut pages {
                pages.put(fresh)?;
            }
        }
        pages.map_or(Ok(()), Pages::finish)
    }
}
