//! Loads the indexes of the files into memory, and mends the damage of a crash or a bad disk.
//!
//! A torn tail is cut and kept in `<file>.torn`. A file with damage between records is kept as
//! `<file>.damaged` and replaced by its intact lines. Only the leader mends, and it must never discard a
//! byte.

use std::io;

use super::floor::Floor;
use super::index::SegmentIndex;
use super::line;
use super::lines::Lines;
use super::log::{Log, Segment};
use super::options::Finding;
use super::scan::{Scan, scan};
use super::segment::{INBOX, SegmentName};
use super::term::{self, Terms};
use entraclaw_seams::storage::Storage;

const COPY_BYTES: usize = 1024 * 1024;

/// The result of a look at the last file.
#[derive(PartialEq, Eq)]
enum Followed {
    NothingNew,
    Records,
    /// Everything was read anew.
    Anew,
}

impl Log {
    /// Reads the folder anew.
    pub(super) fn reload(&mut self) -> io::Result<()> {
        let known = self.last_place();
        self.read_folder()?;
        if self.repair {
            self.note_end(known);
        }
        Ok(())
    }

    /// Notes a gap at the end, if the disk once had everything up to the place `known`.
    pub(super) fn note_end(&mut self, known: u64) {
        let last = self.last_place();
        if last < known {
            self.gaps.push((last + 1, known));
        }
    }

    fn read_folder(&mut self) -> io::Result<()> {
        let newest_term;
        (self.terms, newest_term) = Terms::load(&*self.storage)?;
        // A leader that was replaced must not mend files under the new leader.
        self.repair &= self.terms.term <= self.own_term;
        let names = self.storage.list(INBOX)?;
        let names = names.iter().filter_map(|name| SegmentName::parse(name));
        let mut names: Vec<SegmentName> = names.filter(|name| self.terms.counts(*name)).collect();
        names.sort_unstable();
        self.floor = Floor::load(&*self.storage, self.terms.term)?;
        names.retain(|name| Some(*name) > self.floor.through_file);
        self.forget_all();
        for (at, name) in names.iter().enumerate() {
            self.load_segment(*name, at + 1 == names.len())?;
        }
        // Everything read before this look was written before a newer term began.
        self.is_unsettled = term::newest(&*self.storage, newest_term)? > self.terms.term;
        Ok(())
    }

    /// Adds a file after those already loaded.
    pub(super) fn load_segment(&mut self, name: SegmentName, is_last: bool) -> io::Result<()> {
        let path = name.path();
        // The stamp is taken before the file is read, so that a change meanwhile shows in the stamp.
        let mut stamp = self.storage.stamp(&path)?;
        let len = self.storage.len(&path)?.unwrap_or(0);
        let floor = self.last_seq().max(self.floor.through_seq);
        if is_last && len > 0 {
            self.sync(name);
        }
        let saved = self.saved_index(name, floor, len, is_last)?;
        let saved_len = saved.as_ref().map_or(0, |index| index.len);
        let is_read_whole = saved.is_none();
        let mut index = saved.unwrap_or_else(|| SegmentIndex::above(floor));
        let mut found = scan(&*self.storage, &path, &mut index, len, |_| ())?;
        if found.damaged_pieces > 0 {
            let kept_in = if self.repair { self.quarantine(name, &mut index).ok() } else { None };
            let is_news = if kept_in.is_some() { true } else { self.tolerated.insert(name) };
            if is_news {
                let pieces = found.damaged_pieces;
                self.findings.push(Finding::Damaged { file: path.clone(), pieces, kept_in });
            }
        } else if self.repair && index.len < len {
            // If the disk is too full to keep the tail aside, the tail stays in place and nothing is appended
            // after it.
            if let Ok(kept_in) = cut_tail(&*self.storage, &path, index.len, len) {
                let bytes = len - index.len;
                self.findings.push(Finding::TornTail { file: path.clone(), bytes, kept_in });
            }
        }
        if is_read_whole && found.damaged_pieces == 0 && !self.is_given_up(name) {
            self.tolerated.remove(&name);
        }
        if self.repair && index.len < len {
            stamp = self.storage.stamp(&path)?;
        }
        let was_eventful = found != Scan::default();
        self.tell_gaps(&path, &mut found);
        self.push_segment(Segment { name, index, saved_len, before: self.tally, stamp });
        // The findings lie before the end of the saved index, so they are not reported again.
        if self.repair && (!is_last || was_eventful) {
            self.save_index_of_last();
        }
        Ok(())
    }

    /// Reads what other processes have appended since. It serves nothing that a power cut could take away.
    pub(super) fn follow(&mut self) -> io::Result<()> {
        if let Some(first) = self.segments.first()
            && self.segments.len() > 1
            && self.storage.len(&first.name.path())?.is_none()
        {
            return self.reload();
        }
        if self.follow_last()? != Followed::NothingNew {
            return Ok(());
        }
        let newest = self.segments.last().map(|segment| segment.name);
        let names = self.storage.list(INBOX)?;
        let names = names.iter().filter_map(|name| SegmentName::parse(name));
        let mut newer: Vec<SegmentName> =
            names.filter(|name| Some(*name) > newest && self.terms.counts(*name)).collect();
        newer.sort_unstable();
        // The leader may have appended to the old last file before it began the next one. From now on no
        // process writes to it.
        if !newer.is_empty() && self.follow_last()? == Followed::Anew {
            return Ok(());
        }
        for (at, name) in newer.iter().enumerate() {
            self.load_segment(*name, at + 1 == newer.len())?;
        }
        Ok(())
    }

    /// Reads what was added to the last known file.
    fn follow_last(&mut self) -> io::Result<Followed> {
        let Some(Segment { name, index, stamp, .. }) = self.segments.last() else {
            return Ok(Followed::NothingNew);
        };
        let (path, known_len, known) = (name.path(), index.len, *stamp);
        let Some(now) = self.storage.stamp(&path)? else {
            return self.reload().map(|()| Followed::Anew);
        };
        if Some(now) == known {
            return Ok(Followed::NothingNew);
        }
        let len = now.bytes();
        if len > known_len {
            self.storage.append(&path, false)?.sync()?;
            if let Some(followed) = self.read_tail(&path, len)? {
                if let Some(segment) = self.segments.last_mut() {
                    segment.stamp = Some(now);
                }
                return Ok(followed);
            }
        }
        // The file was cut or replaced.
        let reloaded = if len == known_len { self.reload() } else { self.reload_once_at(len) };
        reloaded.map(|()| Followed::Anew)
    }

    /// Reads what was added to the last file; `None` if that can't be read.
    fn read_tail(&mut self, path: &str, len: u64) -> io::Result<Option<Followed>> {
        let Some(Segment { index, before, .. }) = self.segments.last_mut() else {
            return Ok(Some(Followed::NothingNew));
        };
        let (known, known_len) = (index.last_seq, index.len);
        let found = scan(&*self.storage, path, index, len, |_| ())?;
        let grew = index.last_seq > known;
        self.tally = before.then(index.tally);
        if grew && found.damaged_pieces == 0 {
            return Ok(Some(Followed::Records));
        }
        // A whole line that can't be read means that the file was replaced.
        let tail = Lines::new(&*self.storage, path, known_len, len).next()?.is_some_and(|piece| piece.ended);
        Ok((!tail).then_some(Followed::NothingNew))
    }

    /// Reads everything anew, but only once for the same length of the last file.
    fn reload_once_at(&mut self, len: u64) -> io::Result<()> {
        if self.reloaded_at.replace(len) == Some(len) {
            return Ok(());
        }
        self.reload()
    }

    /// Syncs records before they are served, since their writer may have exited before it synced them.
    fn sync(&mut self, name: SegmentName) {
        let path = name.path();
        if let Err(error) = self.storage.append(&path, false).and_then(|mut file| file.sync()) {
            self.unsynced = Some(name);
            self.findings.push(Finding::NotSynced { file: path, reason: error.to_string() });
        }
    }

    /// The index beside the file, if it is valid.
    fn saved_index(
        &mut self,
        name: SegmentName,
        floor: u64,
        len: u64,
        is_last: bool,
    ) -> io::Result<Option<SegmentIndex>> {
        if self.distrusted.contains(&name) || len == 0 {
            return Ok(None);
        }
        let path = name.index_path();
        let stored = match self.storage.len(&path)? {
            Some(stored) => self.storage.read(&path, 0, usize::try_from(stored).unwrap_or(usize::MAX))?,
            None if is_last => return Ok(None),
            None => Vec::new(),
        };
        let mut index = SegmentIndex::from_bytes(&stored).filter(|i| i.floor == floor && i.len <= len);
        // If the index does not end at the end of a line, the file was rewritten since.
        if let Some(end) = index.as_ref().and_then(|index| index.len.checked_sub(1))
            && self.storage.read(&name.path(), end, 1)? != b"\n"
        {
            index = None;
        }
        if index.is_none() {
            self.findings.push(Finding::IndexRebuilt { file: name.path() });
        }
        Ok(index)
    }

    fn tell_gaps(&mut self, path: &str, found: &mut Scan) {
        if found.repeats > 0 {
            self.findings.push(Finding::Repeats { file: path.to_owned(), lines: found.repeats });
        }
        self.gaps.append(&mut found.gaps);
    }

    /// Keeps a copy of the damaged file aside and replaces the file by its intact lines.
    fn quarantine(&self, name: SegmentName, index: &mut SegmentIndex) -> io::Result<String> {
        let path = name.path();
        let storage = &*self.storage;
        let len = storage.len(&path)?.unwrap_or(0);
        let kept_in = unused_name(storage, &format!("{path}.damaged"))?;
        copy(storage, &path, 0, len, &kept_in)?;
        let mut intact = Vec::new();
        let mut lines = Lines::new(storage, &path, 0, len);
        while let Some(piece) = lines.next()? {
            if piece.ended && line::is_intact(line::without_return(piece.bytes)) {
                intact.extend_from_slice(piece.bytes);
                intact.push(b'\n');
            }
        }
        storage.replace(&path, &intact)?;
        *index = SegmentIndex::above(index.floor);
        scan(storage, &path, index, intact.len() as u64, |_| ())?;
        Ok(kept_in)
    }
}

/// Moves the bytes from `from` to `len` into `<path>.torn`.
fn cut_tail(storage: &dyn Storage, path: &str, from: u64, len: u64) -> io::Result<String> {
    let kept_in = format!("{path}.torn");
    copy(storage, path, from, len, &kept_in)?;
    let mut file = storage.append(path, false)?;
    file.truncate(from)?;
    file.sync()?;
    Ok(kept_in)
}

/// Appends a part of one file to another and syncs it.
fn copy(storage: &dyn Storage, path: &str, from: u64, to: u64, target: &str) -> io::Result<()> {
    let mut file = storage.append(target, true)?;
    let mut at = from;
    while at < to {
        let want = usize::try_from(to - at).unwrap_or(usize::MAX).min(COPY_BYTES);
        let bytes = storage.read(path, at, want)?;
        if bytes.is_empty() {
            break;
        }
        at += bytes.len() as u64;
        file.append(&bytes)?;
    }
    file.sync()
}

fn unused_name(storage: &dyn Storage, wanted: &str) -> io::Result<String> {
    let mut name = wanted.to_owned();
    let mut n = 1;
    while storage.len(&name)?.is_some() {
        n += 1;
        name = format!("{wanted}.{n}");
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use entraclaw_seams::storage::MemoryStorage;

    use super::super::segment::FIRST;
    use super::*;
    use crate::record::{Channel, Draft, Record};

    fn line_of(seq: u64) -> Vec<u8> {
        let draft = Draft {
            key: format!("teams/{seq}"),
            id: seq.to_string(),
            channel: Channel::Teams,
            chat_id: "19:a".to_owned(),
            from: "Alice".to_owned(),
            ts: "2026-11-21T12:00:00Z".to_owned(),
            content_text_sanitized: "hello".to_owned(),
            meta: BTreeMap::new(),
            edit_of: None,
            deleted: false,
        };
        line::encode(&Record::from_draft(draft, seq, "2026-11-21T12:00:00Z".to_owned()), seq - 1)
    }

    /// A reader that reads all files anew at every message would still find all of them, later and later.
    #[test]
    fn a_reader_reads_what_was_added_and_begins_anew_only_where_that_is_damaged() {
        let disk = MemoryStorage::new();
        let path = SegmentName::first_of("2026-11-21".parse().unwrap(), FIRST).path();
        let mut file = line_of(1);
        disk.set_bytes(&path, &file);
        let mut log = Log::load(Arc::new(disk.clone()), None).unwrap();
        let mut follow = |file: &[u8]| {
            disk.set_bytes(&path, file);
            log.follow().unwrap();
            (log.last_seq(), log.reloads)
        };
        let reloads = follow(&file).1;
        file.extend(line_of(2));
        assert_eq!(follow(&file), (2, reloads));
        let third = line_of(3);
        let (half, rest) = third.split_at(third.len() / 2);
        file.extend(half);
        assert_eq!(follow(&file), (2, reloads), "it is not written whole yet");
        file.extend(rest);
        assert_eq!(follow(&file), (3, reloads));
        let mut damaged = line_of(4);
        damaged[3] ^= 1;
        file.extend(damaged);
        assert_eq!(follow(&file), (3, reloads + 1));
        assert_eq!(follow(&file), (3, reloads + 1), "once for what does not change");
        file.extend(line_of(5));
        assert_eq!(follow(&file), (5, reloads + 2));
        file.extend(line_of(6));
        assert_eq!(follow(&file), (6, reloads + 2), "what comes behind the damage is only added");
    }
}
