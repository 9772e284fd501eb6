//! The file of a [`Ledger`]: `inbox/consumers/<name>.jsonl`. Every session of that consumer appends to it.
//!
//! A writer holds the consumer's lock; a reader needs none. The file must survive a line that a process left
//! unfinished.

use std::io;
use std::sync::Arc;

use super::consumer::ConsumerName;
use super::ledger::{Ledger, Note, ORPHANS_SLOT};
use super::line;
use super::lines::Lines;
use entraclaw_seams::storage::Storage;

/// The folder of consumers' files and locks.
pub(super) const CONSUMERS: &str = "inbox/consumers";
/// Longer than any header line.
const HEADER_BYTES: usize = 96;
/// The suffix of a file that is kept aside.
pub(super) const ASIDE: &str = ".damaged";

/// A consumer's file and the ledger in it.
pub(super) struct LedgerFile {
    storage: Arc<dyn Storage>,
    path: String,
    ledger: Ledger,
    /// The header as it was read; a different header means that the file was rewritten.
    header: Vec<u8>,
    /// The length up to which lines were read.
    read_len: u64,
    /// The file's length after it was last rewritten.
    base_len: u64,
    /// Whether the file ends in the middle of a line.
    is_torn: bool,
    /// Whether a line is neither intact nor left unfinished by a process.
    is_damaged: bool,
}

/// Whether a consumer of this name has ever read the inbox of a home folder.
pub fn has_read(storage: &dyn Storage, consumer: &ConsumerName) -> bool {
    matches!(storage.len(&format!("{CONSUMERS}/{consumer}.jsonl")), Ok(Some(_)))
}

impl LedgerFile {
    /// The file of a consumer, before it is read.
    pub(super) fn new(storage: Arc<dyn Storage>, consumer: &ConsumerName) -> Self {
        Self {
            storage,
            path: format!("{CONSUMERS}/{consumer}.jsonl"),
            ledger: Ledger::default(),
            header: Vec::new(),
            read_len: 0,
            base_len: 0,
            is_torn: false,
            is_damaged: false,
        }
    }

    pub(super) fn consumer_of(file_name: &str) -> Option<ConsumerName> {
        ConsumerName::new(file_name.strip_suffix(".jsonl")?).ok()
    }

    /// The ledger as it was last read.
    pub(super) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Applies a note that could not be written.
    pub(super) fn apply_unwritten(&mut self, note: &Note) {
        self.ledger.apply(note);
    }

    /// Whether the file is missing or empty.
    pub(super) fn is_missing(&self) -> io::Result<bool> {
        Ok(self.storage.len(&self.path)?.unwrap_or(0) == 0)
    }

    /// Whether a line that was read is neither intact nor left unfinished by a process.
    pub(super) fn is_damaged(&self) -> bool {
        self.is_damaged
    }

    /// Whether content that was read is gone: the file was deleted, emptied, cut or overwritten. A rewriting
    /// by another session does not count.
    pub(super) fn has_lost(&self) -> io::Result<bool> {
        if self.read_len == 0 {
            return Ok(false);
        }
        let Some(len) = self.storage.len(&self.path)? else { return Ok(true) };
        let header = self.read_header()?;
        Ok(if header == self.header { len < self.read_len } else { !is_sound(&header) })
    }

    fn read_header(&self) -> io::Result<Vec<u8>> {
        let mut header = self.storage.read(&self.path, 0, HEADER_BYTES)?;
        header.truncate(header.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1));
        Ok(header)
    }

    /// Like [`LedgerFile::refresh`], for a running session, whose file must not be removed. If it was removed
    /// all the same, the ledger in memory is kept, and [`LedgerFile::append`] writes it anew.
    pub(super) fn refresh_or_keep(&mut self) -> io::Result<()> {
        if self.has_lost()? { Ok(()) } else { self.refresh() }
    }

    /// Reads the added lines, or the whole file where it was replaced. The caller must then apply again the
    /// notes that no file has.
    pub(super) fn refresh(&mut self) -> io::Result<()> {
        let Some(len) = self.storage.len(&self.path)? else {
            if self.read_len > 0 {
                self.start_over(Vec::new());
            }
            return Ok(());
        };
        let header = self.read_header()?;
        let is_other = header != self.header || len < self.read_len;
        if is_other {
            self.start_over(header);
        }
        let mut lines = Lines::new(&*self.storage, &self.path, self.read_len, len);
        self.is_torn = false;
        while let Some(piece) = lines.next()? {
            if !piece.ended {
                self.is_torn = true;
                self.is_damaged |= !is_unfinished(piece.bytes, self.read_len > 0);
                break;
            }
            self.read_len = piece.end();
            // An unreadable line was left unfinished by a process, so its note never counted.
            if let Some(note) = line::parse::<Note>(piece.bytes) {
                self.ledger.apply(&note);
            }
            self.is_damaged |= !is_sound(piece.bytes);
        }
        if is_other {
            self.base_len = self.read_len;
        }
        Ok(())
    }

    fn start_over(&mut self, header: Vec<u8>) {
        self.ledger = Ledger::default();
        self.header = header;
        self.read_len = 0;
        self.is_torn = false;
        self.is_damaged = false;
    }

    /// Appends notes with one `write` each, then reads them back. Returns whether the file had lost content
    /// that was read and was written anew instead. The caller holds the consumer's lock and has just called
    /// [`LedgerFile::refresh`] or [`LedgerFile::refresh_or_keep`].
    pub(super) fn append(&mut self, notes: &[Note]) -> io::Result<bool> {
        if self.has_lost()? {
            for note in notes {
                self.ledger.apply(note);
            }
            return self.rewrite().map(|()| true);
        }
        let mut file = self.storage.append(&self.path, true)?;
        // A line that lacks only its newline must not become intact: its writer was told that the write
        // failed.
        let mut line = Vec::from(if self.is_torn { "~\n" } else { "" });
        for note in notes {
            line.append(&mut to_line(note));
            file.append(&line)?;
            line.clear();
        }
        // A power cut takes the name of a new file until the folder is synced, and with it what each session was given. The
        // notes stand even where that fails: written once more they would say no more.
        if self.read_len == 0 {
            let _ = file.sync();
        }
        drop(file);
        self.refresh().map(|()| false)
    }

    /// Replaces the file by what is known from elsewhere, and keeps the old file aside. The caller holds the
    /// lock.
    pub(super) fn make_again(&mut self, known: Ledger) -> io::Result<()> {
        let len = self.storage.len(&self.path)?.unwrap_or(0);
        if len > 0 {
            let bytes = self.storage.read(&self.path, 0, usize::try_from(len).unwrap_or(usize::MAX))?;
            self.storage.replace(&format!("{}{ASIDE}", self.path), &bytes)?;
        }
        self.ledger = known;
        self.rewrite()
    }

    fn rewrite(&mut self) -> io::Result<()> {
        let notes: Vec<u8> = self.ledger.to_notes().iter().flat_map(to_line).collect();
        self.storage.replace(&self.path, &notes)?;
        self.refresh()
    }

    /// Rewrites the file when it is longer than `bytes_max` and than twice its length after the last
    /// rewriting. The caller holds the lock.
    pub(super) fn compact(&mut self, bytes_max: u64) -> io::Result<()> {
        if self.read_len <= bytes_max.max(self.base_len.saturating_mul(2)) {
            return Ok(());
        }
        self.rewrite()
    }
}

/// The lock for writing a consumer's file. No consumer's name has a `~`, so this path is never another
/// consumer's file.
pub(super) fn lock_path(consumer: &ConsumerName) -> String {
    format!("{CONSUMERS}/{consumer}~.lock")
}

/// The lock that a running session holds.
pub(super) fn slot_path(consumer: &ConsumerName, slot: u16) -> String {
    format!("{CONSUMERS}/{consumer}~{slot}.lock")
}

/// Whether a running session has the slot. A lock that can't be asked for counts as free: a marked repetition
/// is better than a loss.
pub(super) fn slot_is_taken(storage: &dyn Storage, consumer: &ConsumerName, slot: u16) -> bool {
    slot != ORPHANS_SLOT && matches!(storage.try_lock(&slot_path(consumer, slot)), Ok(None))
}

/// Whether a line is intact, or was left unfinished by a process and closed by the next writer.
fn is_sound(line: &[u8]) -> bool {
    let line = line::without_return(line.strip_suffix(b"\n").unwrap_or(line));
    line.ends_with(b"~") || line::is_intact(line)
}

/// Whether a process, or the system before a power cut, was not yet done with the last line. Every note begins with a brace,
/// the end of an unfinished line with `~`, and of bytes behind others only the number may be on the disk.
fn is_unfinished(line: &[u8], is_behind_others: bool) -> bool {
    matches!(line.first(), Some(b'{' | b'~')) || (is_behind_others && line.iter().all(|byte| *byte == 0))
}

fn to_line(note: &Note) -> Vec<u8> {
    line::seal(serde_json::to_vec(note).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use entraclaw_seams::storage::MemoryStorage;
    use entraclaw_seams::storage::memory::Crash;

    fn opened(slot: u16) -> Note {
        Note::Open { slot, session: format!("session-{slot}") }
    }

    fn file_of(disk: &MemoryStorage) -> LedgerFile {
        let process = disk.new_process();
        process.create_dir(CONSUMERS).unwrap();
        LedgerFile::new(Arc::new(process), &"claude-code".parse().unwrap())
    }

    #[test]
    fn a_power_cut_takes_the_newest_notes_alone_and_damages_nothing() {
        let header = Note::Header { v: 1, generation: 1 };
        for seed in 0..64 {
            let disk = MemoryStorage::new();
            let mut file = file_of(&disk);
            file.append(&[header.clone(), opened(1)]).unwrap();
            let first_len = file.read_len;
            file.append(&[opened(2), opened(3)]).unwrap();
            disk.crash(Crash::Power, seed);

            let mut file = file_of(&disk);
            file.refresh().unwrap();
            assert!(file.read_len >= first_len && !file.is_damaged(), "seed {seed}: {}", file.read_len);
            file.append(&[opened(4)]).unwrap();
            let mut again = file_of(&disk);
            again.refresh().unwrap();
            assert!(!again.is_damaged() && again.read_len > first_len, "seed {seed}");
        }
    }

    #[test]
    fn a_new_file_that_is_not_synced_holds_each_note_once() {
        let disk = MemoryStorage::new();
        let mut file = file_of(&disk);
        disk.set_syncs_fail(true);
        file.append(&[Note::Header { v: 1, generation: 1 }, opened(1)]).unwrap();
        file.append(&[opened(2)]).unwrap();
        let text = String::from_utf8(disk.read(&file.path, 0, usize::MAX).unwrap()).unwrap();
        assert_eq!(text.lines().count(), 3, "{text}");
    }
}
