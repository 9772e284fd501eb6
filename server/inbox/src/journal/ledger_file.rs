//! The file behind a [`Ledger`]: `inbox/consumers/<name>.jsonl`, appended to by every session of that consumer.
//!
//! Whoever writes holds the consumer's lock; reading needs none. It must survive a line that somebody died in.

use std::io;
use std::sync::Arc;

use super::consumer::ConsumerName;
use super::ledger::{Ledger, Note, ORPHANS_SLOT};
use super::line;
use super::lines::Lines;
use entraclaw_seams::storage::Storage;

/// The folder of consumers' files and locks.
pub(super) const CONSUMERS: &str = "inbox/consumers";
/// More than the longest header line.
const HEADER_BYTES: usize = 96;
/// Behind the name of a file that is kept aside.
pub(super) const ASIDE: &str = ".damaged";

/// A consumer's file and what it says.
pub(super) struct LedgerFile {
    storage: Arc<dyn Storage>,
    path: String,
    ledger: Ledger,
    /// The header as it was read; another one means that the file was rewritten.
    header: Vec<u8>,
    /// Up to here lines were read.
    read_len: u64,
    /// Length after the last rewriting.
    base_len: u64,
    /// Whether the file ends in the middle of a line.
    is_torn: bool,
    /// Whether a line is neither whole nor one that somebody died in.
    is_damaged: bool,
}

impl LedgerFile {
    /// The file of a consumer, not read yet.
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

    /// The consumer of a file name.
    pub(super) fn consumer_of(file_name: &str) -> Option<ConsumerName> {
        ConsumerName::new(file_name.strip_suffix(".jsonl")?).ok()
    }

    /// What the file said when it was last read.
    pub(super) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Takes a note in that could not be written.
    pub(super) fn apply_unwritten(&mut self, note: &Note) {
        self.ledger.apply(note);
    }

    /// Whether there is nothing to read.
    pub(super) fn is_missing(&self) -> io::Result<bool> {
        Ok(self.storage.len(&self.path)?.unwrap_or(0) == 0)
    }

    /// Whether it was read and has a line that says nothing and that nobody died in.
    pub(super) fn is_damaged(&self) -> bool {
        self.is_damaged
    }

    /// Whether what was read is no longer there: the file was deleted, emptied, cut or overwritten. When another session
    /// rewrites it, it is not.
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

    /// Like [`LedgerFile::refresh`] for a living session, whose file nobody may take away: where that was done all the same
    /// it keeps what it knows. [`LedgerFile::append`] writes that anew.
    pub(super) fn refresh_or_keep(&mut self) -> io::Result<()> {
        if self.has_lost()? { Ok(()) } else { self.refresh() }
    }

    /// Reads what was added, or all of it anew where the file is another one. Notes that no file has are for the caller to
    /// apply again.
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
                // Every note begins so, and what closes the line before it.
                self.is_damaged |= !piece.bytes.starts_with(b"{") && !piece.bytes.starts_with(b"~");
                break;
            }
            self.read_len = piece.end();
            // An unreadable line is one that somebody died in: what it told never happened.
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

    /// Appends notes with one `write` each, then reads them back. Returns whether the file had lost what was read and was
    /// written anew instead. The caller holds the consumer's lock and has just called [`LedgerFile::refresh`] or
    /// [`LedgerFile::refresh_or_keep`].
    pub(super) fn append(&mut self, notes: &[Note]) -> io::Result<bool> {
        if self.has_lost()? {
            for note in notes {
                self.ledger.apply(note);
            }
            return self.rewrite().map(|()| true);
        }
        let mut file = self.storage.append(&self.path, true)?;
        // A line that lacked nothing but its end must not become whole: whoever wrote it was told that it was not taken.
        let mut line = Vec::from(if self.is_torn { "~\n" } else { "" });
        for note in notes {
            line.append(&mut to_line(note));
            file.append(&line)?;
            line.clear();
        }
        drop(file);
        self.refresh().map(|()| false)
    }

    /// Puts what is known otherwise in the place of what the file says, which is kept aside. The caller holds the lock.
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

    /// Rewrites the file when it has grown beyond `bytes_max` and beyond twice its last rewriting. The caller holds
    /// the lock.
    pub(super) fn compact(&mut self, bytes_max: u64) -> io::Result<()> {
        if self.read_len <= bytes_max.max(self.base_len.saturating_mul(2)) {
            return Ok(());
        }
        self.rewrite()
    }
}

/// The lock of whoever writes a consumer's file. `~` is in no consumer's name, so no consumer's file can be another's
/// lock.
pub(super) fn lock_path(consumer: &ConsumerName) -> String {
    format!("{CONSUMERS}/{consumer}~.lock")
}

/// The lock that a living session holds.
pub(super) fn slot_path(consumer: &ConsumerName, slot: u16) -> String {
    format!("{CONSUMERS}/{consumer}~{slot}.lock")
}

/// Whether a session lives in a slot. If its lock can't be asked for, none does: a marked repetition is better than a
/// loss.
pub(super) fn slot_is_taken(storage: &dyn Storage, consumer: &ConsumerName, slot: u16) -> bool {
    slot != ORPHANS_SLOT && matches!(storage.try_lock(&slot_path(consumer, slot)), Ok(None))
}

/// Whether a line is whole, or one that somebody died in and the next one closed.
fn is_sound(line: &[u8]) -> bool {
    let line = line::without_return(line.strip_suffix(b"\n").unwrap_or(line));
    line.ends_with(b"~") || line::is_intact(line)
}

fn to_line(note: &Note) -> Vec<u8> {
    line::seal(serde_json::to_vec(note).unwrap_or_default())
}
