//! Reads what the agents' files have gained, into the index or beside it.
//!
//! It must never hold more than a bounded number of messages beside the index.

use std::collections::BTreeMap;
use std::path::PathBuf;

use entraclaw_seams::storage::Lock;
use tantivy::IndexWriter;

use super::catalog::Entry;
use super::changed::{self, Looked};
use super::fresh::{Fresh, MESSAGES_MAX};
use super::memory::Memory;
use super::pace::Pace;
use super::page::Pages;
use super::parts::MemoryError;
use crate::stores::{Agent, Batch, Found, Tally, find, read_piece};

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

/// Where what is read goes once there is much of it: the writer, whose turn it is, and how many bytes it was given.
struct Bulk {
    writer: IndexWriter,
    _turn: Box<dyn Lock>,
    queued_bytes: usize,
}

impl Memory {
    /// Reads what the agents' files have gained. Much of it is committed at once; a little waits for more.
    pub fn refresh(&mut self) -> Result<Refreshed, MemoryError> {
        self.catch_up()?;
        let (all, troubles) = find(&*self.parts.files, &self.parts.homes);
        let looked = changed::look(&*self.parts.files, &self.groups, &self.catalog, &all);
        let pace = Pace::of(looked.iter().filter_map(|looked| looked.unread_bytes).sum());
        let gone = self.gone(&looked);
        let unread = all.into_iter().zip(looked).filter(|(_, looked)| looked.unread_bytes.is_some());
        let unread: Vec<Found> = unread.map(|(file, _)| file).collect();
        let done = Refreshed { troubles, ..Refreshed::default() };
        if pace.is_low {
            return behind_others(|| self.take_all(unread, gone, pace, done));
        }
        self.take_all(unread, gone, pace, done)
    }

    /// The numbers of the files that are not there any more.
    fn gone(&self, looked: &[Looked]) -> Vec<u64> {
        let mut there: Vec<u64> = looked.iter().filter_map(|looked| looked.number).collect();
        there.sort_unstable();
        self.catalog.files.keys().copied().filter(|number| there.binary_search(number).is_err()).collect()
    }

    fn take_all(
        &mut self,
        unread: Vec<Found>,
        gone: Vec<u64>,
        pace: Pace,
        mut done: Refreshed,
    ) -> Result<Refreshed, MemoryError> {
        let mut bulk: Option<Bulk> = None;
        let mut is_cut = false;
        'files: for file in unread {
            let mut is_new = true;
            // A long log is read in pieces.
            loop {
                if self.fresh.len() > WAITING_MAX {
                    is_cut = true;
                    break 'files;
                }
                let number = self.groups.number(&file.path);
                let mark = number.and_then(|number| self.catalog.files.get(&number)).map(|entry| &entry.mark);
                let batch = match read_piece(&*self.parts.files, &file, mark) {
                    Ok(Some(batch)) => batch,
                    Ok(None) => break,
                    Err(error) => {
                        done.troubles.push((file.path, error.to_string()));
                        break;
                    }
                };
                done.files += usize::from(std::mem::take(&mut is_new));
                done.messages += batch.messages.len();
                done.tallies.entry(file.agent).or_default().add(&batch.tally);
                let has_more = batch.has_more;
                self.take(number, batch);
                if self.fresh.len() > MESSAGES_MAX && bulk.is_none() {
                    let turn = self.turn()?;
                    let begin =
                        |turn| self.writer(pace).map(|writer| Bulk { writer, _turn: turn, queued_bytes: 0 });
                    bulk = turn.map(begin).transpose()?;
                }
                if let Some(bulk) = &mut bulk {
                    bulk.queued_bytes +=
                        self.fresh.iter().map(|fresh| fresh.message.text.len()).sum::<usize>();
                    self.drain(&bulk.writer)?;
                    if bulk.queued_bytes > pace.stage_bytes {
                        // It waits until the queue is empty: without this the queue would hold all that is read.
                        self.save(&mut bulk.writer)?;
                        bulk.queued_bytes = 0;
                    }
                }
                if !has_more {
                    break;
                }
            }
        }
        if !is_cut {
            for number in gone {
                self.drop_file(number);
            }
        }
        if let Some(bulk) = bulk {
            self.commit(bulk.writer, pace, done.messages)?;
        }
        Ok(done)
    }

    /// Commits what waits.
    pub fn flush(&mut self) -> Result<(), MemoryError> {
        if self.fresh.is_empty() && self.dead.is_empty() {
            return Ok(());
        }
        let Some(_lock) = self.turn()? else { return Ok(()) };
        let writer = self.writer(Pace::USUAL)?;
        let messages = self.fresh.len();
        self.drain(&writer)?;
        self.commit(writer, Pace::USUAL, messages)
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

/// Does work to which the system prefers other work, on a thread of its own: a thread can't go back to its old priority.
fn behind_others<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let lowered = scope.spawn(|| {
            lower_priority();
            work()
        });
        lowered.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// On Linux the priority is a thread's own, and the threads that it starts have it too.
#[cfg(target_os = "linux")]
fn lower_priority() {
    const STEPS: i32 = 10;
    // Without it the work is done as any other.
    let _ = rustix::process::nice(STEPS);
}

/// Elsewhere the priority is that of the whole process.
#[cfg(not(target_os = "linux"))]
fn lower_priority() {}

#[cfg(test)]
mod tests {
    use entraclaw_seams::storage::{Fault, Storage as _};

    use super::super::machine::Machine;
    use super::*;

    fn lines(machine: &Machine, session: &str, count: usize) {
        let line = serde_json::json!({"type": "user", "message": {"content": "alpha"}}).to_string();
        let text = format!("{line}\n").repeat(count);
        machine.storage.set_bytes(&Machine::path(session), text.as_bytes());
    }

    #[test]
    fn a_little_waits_and_one_message_more_commits_it_all() {
        for (count, waiting, commits) in [(MESSAGES_MAX, MESSAGES_MAX, 0), (MESSAGES_MAX + 1, 0, 1)] {
            let machine = Machine::new();
            lines(&machine, "one", count);
            let mut memory = machine.open();
            let done = memory.refresh().unwrap();
            assert_eq!((done.files, done.messages), (1, count));
            assert_eq!((memory.fresh.len(), memory.catalog.generation), (waiting, commits));
            assert_eq!(memory.refresh().unwrap(), Refreshed::default(), "nothing is new");
        }
    }

    #[test]
    fn what_is_read_is_counted_by_file_and_agent() {
        let machine = Machine::new();
        lines(&machine, "one", 3);
        lines(&machine, "two", 2);
        machine.line("two", &serde_json::json!({"type": "ofTomorrow"}));
        let mut memory = machine.open();
        let done = memory.refresh().unwrap();
        assert_eq!((done.files, done.messages, done.troubles.len()), (2, 5, 0));
        assert_eq!(done.tallies[&Agent::Claude].unknown["ofTomorrow"], 1);
        machine.say("one", "user", "more", None);
        let done = memory.refresh().unwrap();
        assert_eq!((done.files, done.messages), (1, 1));
    }

    #[test]
    fn a_file_that_can_not_be_read_is_told_and_the_others_are_read() {
        let machine = Machine::new();
        lines(&machine, "one", 1);
        lines(&machine, "two", 1);
        let mut told = 0;
        for n in 0..40 {
            let mut memory = machine.open();
            machine.storage.fail_call(n, Fault::Error(std::io::ErrorKind::PermissionDenied));
            if let Ok(done) = memory.refresh()
                && done.troubles.iter().any(|(path, _)| path.ends_with("one.jsonl"))
            {
                told += 1;
                assert_eq!(done.messages, 1, "call {n}");
            }
            machine.storage.clear_fault();
        }
        assert!(told > 0);
    }

    #[test]
    fn what_is_gone_is_dropped_with_what_waits_of_it() {
        let machine = Machine::new();
        lines(&machine, "one", 2);
        lines(&machine, "two", 3);
        let mut memory = machine.open();
        memory.refresh().unwrap();
        machine.storage.remove(&Machine::path("two")).unwrap();
        memory.refresh().unwrap();
        assert_eq!((memory.fresh.len(), memory.catalog.files.len(), memory.dead.len()), (2, 1, 1));
        // Another file of the same name.
        lines(&machine, "one", 1);
        memory.refresh().unwrap();
        assert_eq!((memory.fresh.len(), memory.catalog.files.len(), memory.dead.len()), (1, 1, 2));
        memory.flush().unwrap();
        assert!(memory.dead.is_empty() && memory.reader.searcher().num_docs() == 1);
    }
}
