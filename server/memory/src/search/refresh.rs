//! Reads what the agents' files have gained, into the index or beside it.
//!
//! It must never hold more than a bounded number of messages beside the index.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use entraclaw_seams::storage::Lock;
use tantivy::IndexWriter;

use super::catalog::Entry;
use super::changed::{self, Looked};
use super::fresh::{Fresh, MESSAGES_MAX};
use super::memory::Memory;
use super::pace::Pace;
use super::page::Pages;
use super::parts::MemoryError;
use crate::stores::{Agent, Batch, Found, Tally, find, read_piece, unread_bytes};

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

/// How far a reading of what is new is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of sessions that were read, or could not be.
    pub read_bytes: u64,
    /// Bytes of sessions that were new when the reading began.
    pub new_bytes: u64,
}

/// A session that has something new, and how many bytes.
struct Unread {
    file: Found,
    bytes: u64,
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
        self.refresh_telling(&|_| ())
    }

    /// As [`refresh`](Self::refresh), and tells how far it is: at its beginning and after each session or piece of a long one.
    pub fn refresh_telling(&mut self, tell: &(dyn Fn(Progress) + Sync)) -> Result<Refreshed, MemoryError> {
        self.catch_up()?;
        let (all, troubles) = find(&*self.parts.files, &self.parts.homes);
        let looked = changed::look(&*self.parts.files, &self.groups, &self.catalog, &all);
        let gone = self.gone(&looked, &troubles);
        let files = all.into_iter().zip(looked);
        let unread = files.filter_map(|(file, looked)| Some(Unread { file, bytes: looked.unread_bytes? }));
        let unread: Vec<Unread> = unread.collect();
        let new_bytes = unread.iter().fold(0, |sum: u64, unread| sum.saturating_add(unread.bytes));
        let tell = |read_bytes| tell(Progress { read_bytes, new_bytes });
        let pace = Pace::of(new_bytes);
        let done = Refreshed { troubles, ..Refreshed::default() };
        if pace.is_low {
            return behind_others(|| self.take_all(unread, gone, pace, done, &tell));
        }
        self.take_all(unread, gone, pace, done, &tell)
    }

    /// The numbers of the files that are not there any more. What can't be listed now may be there.
    fn gone(&self, looked: &[Looked], troubles: &[(PathBuf, String)]) -> Vec<u64> {
        let mut there: Vec<u64> = looked.iter().filter_map(|looked| looked.number).collect();
        there.sort_unstable();
        let is_hidden = |path: &Path| troubles.iter().any(|(hidden, _)| path.starts_with(hidden));
        let files = self.catalog.files.iter().filter(|(number, _)| there.binary_search(number).is_err());
        let gone = files.filter(|(_, entry)| !is_hidden(&entry.mark.session.file));
        gone.map(|(number, _)| *number).collect()
    }

    fn take_all(
        &mut self,
        unread: Vec<Unread>,
        gone: Vec<u64>,
        pace: Pace,
        mut done: Refreshed,
        tell: &dyn Fn(u64),
    ) -> Result<Refreshed, MemoryError> {
        let mut bulk: Option<Bulk> = None;
        let mut is_cut = false;
        let mut read_bytes: u64 = 0;
        'files: for Unread { file, bytes } in unread {
            tell(read_bytes);
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
                let mark = self.groups.number(&file.path).and_then(|number| self.catalog.files.get(&number));
                let left = unread_bytes(&*self.parts.files, &file, mark.map(|entry| &entry.mark));
                tell(read_bytes.saturating_add(bytes.saturating_sub(left.unwrap_or_default())));
            }
            read_bytes = read_bytes.saturating_add(bytes);
        }
        tell(read_bytes);
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
    fn what_can_not_be_listed_for_a_while_is_not_gone() {
        let machine = Machine::new();
        lines(&machine, "one", 2);
        let mut memory = machine.open();
        memory.refresh().unwrap();
        let mut hidden = 0;
        for n in 0..40 {
            machine.storage.fail_call(n, Fault::Error(std::io::ErrorKind::PermissionDenied));
            let refreshed = memory.refresh();
            machine.storage.clear_fault();
            hidden += usize::from(refreshed.is_ok_and(|done| !done.troubles.is_empty()));
            assert_eq!((memory.fresh.len(), memory.dead.len()), (2, 0), "call {n}");
        }
        assert!(hidden > 0);
    }

    /// What a refresh tells: the bytes that were read, of those that are new.
    fn told(memory: &mut Memory) -> Vec<(u64, u64)> {
        let told = std::sync::Mutex::new(Vec::new());
        let tell = |progress: Progress| {
            told.lock().unwrap().push((progress.read_bytes, progress.new_bytes));
        };
        memory.refresh_telling(&tell).unwrap();
        told.into_inner().unwrap()
    }

    #[test]
    fn how_far_a_reading_is_is_told_by_the_bytes_of_what_is_new() {
        let machine = Machine::new();
        lines(&machine, "one", 2);
        lines(&machine, "two", 1);
        let mut memory = machine.open();
        let line = 46;
        assert_eq!(told(&mut memory), [(0, 3 * line), (2 * line, 3 * line), (3 * line, 3 * line)]);
        assert_eq!(told(&mut memory), [(0, 0)]);
        lines(&machine, "one", 5);
        assert_eq!(told(&mut memory), [(0, 3 * line), (3 * line, 3 * line)], "what it gained");
    }

    #[test]
    fn how_far_a_reading_is_is_told_within_a_long_log() {
        let machine = Machine::new();
        let line = format!("{{\"type\":\"ofTomorrow\",\"text\":\"{}\"}}\n", "x".repeat(1024 * 1024));
        machine.storage.set_bytes(&Machine::path("one"), line.repeat(40).as_bytes());
        let told = told(&mut machine.open());
        let line = line.len() as u64;
        let read: Vec<u64> = told.iter().map(|(read, _)| *read).collect();
        assert_eq!((read.len(), read[0], read[1] % line, read[2]), (3, 0, 0, 40 * line));
        assert!(read[1] > 30 * line && read[1] < 34 * line, "{told:?}");
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
