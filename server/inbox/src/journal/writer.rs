//! Appends batches of records to the newest file, whole or not at all.
//!
//! After a failed or short write the file is cut back. After a failed sync, or when it can't be cut, the file
//! is never written again: the kernel may have dropped its pages and report no error the next time.
//!
//! A leader that was stopped for long may have been replaced meanwhile, and then its writes count nowhere. So
//! after every write it checks whether its term has ended, before it reports the records as written.

use std::io;

use jiff::civil::Date;

use super::line;
use super::log::{Entry, Log};
use super::segment::SegmentName;
use entraclaw_seams::storage::AppendFile;

/// The file that is open for appending.
#[derive(Default)]
pub(super) struct Writer {
    open: Option<Open>,
    /// A file that must not be written again.
    spoiled: Option<SegmentName>,
}

struct Open {
    name: SegmentName,
    file: Box<dyn AppendFile>,
    /// The length up to which everything is whole and synced.
    good_len: u64,
    /// The value of [`Log::reloads`] when the file was opened; a later reload may have replaced the file.
    reloads: u64,
    /// The last day on which this process wrote to the file.
    written_on: Date,
}

impl Writer {
    /// Writes and syncs records, one `write` each, and adds them to the log. On an error the log has none of
    /// them.
    pub(super) fn append<'a>(
        &mut self,
        log: &mut Log,
        today: Date,
        bytes_max: u64,
        entries: impl Iterator<Item = &'a Entry> + Clone,
    ) -> io::Result<()> {
        if log.is_term_over()? {
            return Err(outdated());
        }
        self.ensure_open(log, today, bytes_max)?;
        let Some(open) = &mut self.open else { return Err(io::Error::other("no journal file is open")) };
        let mut ends = Vec::new();
        if let Err(error) = open.write(entries.clone(), log.last_place(), &mut ends) {
            self.undo(log);
            return Err(error);
        }
        if let Err(error) = open.file.sync() {
            self.spoil(log);
            return Err(error);
        }
        match log.is_term_over() {
            Ok(false) => {}
            // Another leader has replaced this one, so the file must not be cut here.
            Ok(true) => return Err(outdated()),
            Err(error) => {
                self.spoil(log);
                return Err(error);
            }
        }
        for (entry, end) in entries.zip(ends) {
            log.push(open.name, &entry.record, open.good_len, end);
            open.good_len = end;
        }
        log.stamp_last();
        Ok(())
    }

    /// Makes sure that a file is open that can take more: it is today's, and not full.
    fn ensure_open(&mut self, log: &mut Log, today: Date, bytes_max: u64) -> io::Result<()> {
        // If the clock goes back, the order of names still is the order of records. Each day by this clock
        // has a file of its own all the same, so that retention can delete one after the other.
        let is_of_today = |name: SegmentName, written_on: Date| name.day() == today || written_on == today;
        let takes_more = |name: SegmentName, len: u64, written_on: Date| {
            name.day() >= today && len < bytes_max && is_of_today(name, written_on)
        };
        if let Some(open) = &self.open {
            let is_there = log.storage.len(&open.name.path())? == Some(open.good_len);
            if is_there
                && open.reloads == log.reloads
                && takes_more(open.name, open.good_len, open.written_on)
            {
                return Ok(());
            }
            // A record written to a file that was deleted, replaced or cut would be lost with it.
            if !is_there && open.reloads == log.reloads {
                // A new leader moves the old leader's file aside.
                if log.is_term_over()? {
                    return Err(outdated());
                }
                log.reload()?;
            }
            self.open = None;
        }
        let is_sound = |name: &SegmentName| {
            name.term() == log.own_term && Some(*name) > self.spoiled && Some(*name) != log.unsynced
        };
        if let Some(newest) = log.newest_name.filter(is_sound) {
            let known_len = log.segments.last().filter(|s| s.name == newest).map_or(0, |s| s.index.len);
            // A tail that could not be mended stays as it is, so nothing may be appended after it.
            let is_clean = log.storage.len(&newest.path())? == Some(known_len);
            if is_clean && takes_more(newest, known_len, log.received_last_on()?.unwrap_or(today)) {
                return self.open(log, newest, known_len, false, today);
            }
        }
        log.save_index_of_last();
        let newest = log.newest_name.max(self.spoiled);
        let mut name = match newest {
            Some(newest) if newest.day() >= today && newest.term() == log.own_term => newest.next(),
            Some(newest) if newest.day() >= today => SegmentName::first_of(newest.day(), log.own_term),
            _ => SegmentName::first_of(today, log.own_term),
        };
        while log.storage.len(&name.path())?.is_some_and(|len| len > 0) {
            name = name.next();
        }
        self.open(log, name, 0, true, today)
    }

    fn open(
        &mut self,
        log: &Log,
        name: SegmentName,
        good_len: u64,
        create: bool,
        written_on: Date,
    ) -> io::Result<()> {
        let file = log.storage.append(&name.path(), create)?;
        self.open = Some(Open { name, file, good_len, reloads: log.reloads, written_on });
        Ok(())
    }

    /// Cuts off what a failed write left.
    fn undo(&mut self, log: &mut Log) {
        let Some(open) = &mut self.open else { return };
        if log.is_term_over().unwrap_or(false) {
            return;
        }
        if open.file.truncate(open.good_len).is_err() {
            self.spoil(log);
        }
        log.stamp_last();
    }

    /// Marks the file as not to be written again, and cuts off what it should not have, if possible.
    fn spoil(&mut self, log: &mut Log) {
        let Some(mut open) = self.open.take() else { return };
        if log.is_term_over().unwrap_or(false) {
            return;
        }
        let _ = open.file.truncate(open.good_len);
        if open.good_len == 0 {
            let _ = log.storage.remove(&open.name.path());
        }
        self.spoiled = Some(open.name);
        log.stamp_last();
    }
}

/// Another process leads now.
fn outdated() -> io::Error {
    io::Error::other(Outdated)
}

/// Whether writing failed because another process leads now.
pub(super) fn is_outdated(error: &io::Error) -> bool {
    error.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<Outdated>)
}

/// This process was replaced as the leader.
#[derive(Debug, thiserror::Error)]
#[error("another session has replaced this one as the leader")]
struct Outdated;

impl Open {
    /// Writes records after the one at the place `before`.
    fn write<'a>(
        &mut self,
        entries: impl Iterator<Item = &'a Entry>,
        mut before: u64,
        ends: &mut Vec<u64>,
    ) -> io::Result<()> {
        let mut end = self.good_len;
        for entry in entries {
            let line = line::encode(&entry.record, before);
            before = entry.record.seq;
            self.file.append(&line)?;
            end += line.len() as u64;
            ends.push(end);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use entraclaw_seams::storage::{MemoryStorage, Storage as _};
    use jiff::civil::date;
    use rstest::rstest;

    use super::super::segment::{INBOX, INDEXES};
    use super::*;
    use crate::record::{Channel, Record};

    const TODAY: Date = date(2026, 11, 21);
    const FIRST: &str = "2026-11-21.jsonl";

    fn entry(seq: u64, received_on: Date) -> Entry {
        let record = Record {
            v: 1,
            seq,
            after: None,
            key: format!("teams/{seq}"),
            id: seq.to_string(),
            received_at: format!("{received_on}T12:00:00Z"),
            channel: Channel::Teams,
            chat_id: "chat".to_owned(),
            from: "Alice".to_owned(),
            ts: format!("{received_on}T12:00:00Z"),
            content_text_sanitized: "hello".to_owned(),
            meta: BTreeMap::new(),
            edit_of: None,
            deleted: false,
            restored: false,
            consumed_by: Vec::new(),
        };
        Entry { record, prev: seq - 1 }
    }

    /// A disk with one record in the first file of today.
    fn disk() -> MemoryStorage {
        let disk = MemoryStorage::new();
        disk.create_dir(INBOX).unwrap();
        disk.create_dir(INDEXES).unwrap();
        let mut log = Log::load(Arc::new(disk.clone()), Some(1)).unwrap();
        Writer::default().append(&mut log, TODAY, u64::MAX, [entry(1, TODAY)].iter()).unwrap();
        disk
    }

    /// The file to which a record goes.
    fn file_of(writer: &mut Writer, log: &mut Log, today: Date, bytes_max: u64) -> String {
        let next = entry(log.last_place() + 1, today);
        writer.append(log, today, bytes_max, [next].iter()).unwrap();
        log.segments.last().unwrap().name.file_name()
    }

    #[rstest]
    #[case::sound(1, |_: &mut Writer, _: &mut Log| (), FIRST)]
    #[case::of_an_older_term(2, |_: &mut Writer, _: &mut Log| (), "2026-11-21.t2.jsonl")]
    #[case::spoiled(
        1,
        |writer: &mut Writer, log: &mut Log| writer.spoiled = log.newest_name,
        "2026-11-21.1.jsonl"
    )]
    #[case::not_synced(1, |_: &mut Writer, log: &mut Log| log.unsynced = log.newest_name, "2026-11-21.1.jsonl")]
    #[case::with_a_tail(
        1,
        |_: &mut Writer, log: &mut Log| {
            let path = log.newest_name.unwrap().path();
            log.storage.append(&path, false).unwrap().append(b"x").unwrap();
        },
        "2026-11-21.1.jsonl"
    )]
    #[case::the_next_name_is_taken(
        1,
        |writer: &mut Writer, log: &mut Log| {
            writer.spoiled = log.newest_name;
            let path = log.newest_name.unwrap().next().path();
            log.storage.append(&path, true).unwrap().append(b"x").unwrap();
        },
        "2026-11-21.2.jsonl"
    )]
    #[case::the_next_name_is_of_an_empty_file(
        1,
        |writer: &mut Writer, log: &mut Log| {
            writer.spoiled = log.newest_name;
            log.storage.append(&log.newest_name.unwrap().next().path(), true).unwrap();
        },
        "2026-11-21.1.jsonl"
    )]
    fn only_a_sound_file_of_its_own_term_is_written_on(
        #[case] term: u64,
        #[case] happens: fn(&mut Writer, &mut Log),
        #[case] goes_to: &str,
    ) {
        let mut log = Log::load(Arc::new(disk()), Some(term)).unwrap();
        let mut writer = Writer::default();
        happens(&mut writer, &mut log);
        assert_eq!(file_of(&mut writer, &mut log, TODAY, u64::MAX), goes_to);
    }

    #[rstest]
    #[case::has_room(1, TODAY, FIRST)]
    #[case::is_just_full(0, TODAY, "2026-11-21.1.jsonl")]
    #[case::is_of_yesterday(1, date(2026, 11, 22), "2026-11-22.jsonl")]
    #[case::is_of_tomorrow(1, date(2026, 11, 20), "2026-11-21.1.jsonl")]
    fn a_file_takes_more_on_its_day_until_it_is_full(
        #[case] room: u64,
        #[case] today: Date,
        #[case] goes_to: &str,
        #[values(false, true)] is_open: bool,
    ) {
        let disk = disk();
        let mut log = Log::load(Arc::new(disk.clone()), Some(1)).unwrap();
        let mut writer = Writer::default();
        if is_open {
            assert_eq!(file_of(&mut writer, &mut log, TODAY, u64::MAX), FIRST);
        }
        let bytes_max = disk.len(&format!("{INBOX}/{FIRST}")).unwrap().unwrap() + room;
        assert_eq!(file_of(&mut writer, &mut log, today, bytes_max), goes_to);
        assert_eq!(file_of(&mut writer, &mut log, today, u64::MAX), goes_to);
        assert_eq!(file_of(&mut Writer::default(), &mut log, today, u64::MAX), goes_to);
    }
}
