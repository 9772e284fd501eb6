//! Reads what the agents' files have gained, into the index or beside it.
//!
//! It must never hold more than a bounded number of messages beside the index.

use std::collections::BTreeMap;
use std::path::PathBuf;

use entraclaw_seams::storage::Lock;
use tantivy::{IndexWriter, TantivyDocument};

use super::catalog::{Entry, key};
use super::fresh::{Fresh, MESSAGES_MAX};
use super::memory::Memory;
use super::parts::MemoryError;
use super::rank::role_name;
use crate::stores::{Agent, Batch, Session, Tally, find, read};

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

impl Memory {
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
}
