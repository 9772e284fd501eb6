//! The journal's bounds, and the reports that it gives about itself.
//!
//! Every queue, cache and loop of the journal has its limit here; none is hidden in the code.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use entraclaw_seams::storage::Stamp;

/// The place at which a new consumer begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NewConsumerStarts {
    /// At the oldest record of the journal. This is the default, because the first message often arrives before the host is
    /// first started, and a message that is skipped silently is lost.
    #[default]
    Oldest,
    /// After the newest record: for terminals that only announce what is new.
    Now,
}

/// Bounds and choices, fixed when the journal is opened.
#[derive(Debug, Clone)]
pub struct JournalOptions {
    /// Whether this process may become the leader. Commands that only read say no.
    pub may_lead: bool,
    /// Newest records kept in memory; also how many can wait for a disk that takes no writes.
    pub window_messages_max: usize,
    /// Newest dedup keys remembered.
    pub dedup_keys_max: usize,
    /// A day's file is followed by `<day>.<n>.jsonl` once it is this long.
    pub segment_bytes_max: u64,
    /// Consumers with a file of their own.
    pub consumers_max: usize,
    /// Sessions of one consumer at a time.
    pub sessions_max: u16,
    /// A consumer's file is rewritten once it is this long.
    pub consumer_bytes_max: u64,
    /// Longest audit log of one day; refusals may fill half of it.
    pub audit_day_bytes_max: u64,
    /// How long another process may hold a consumer's lock before a call fails.
    pub lock_wait_ms: u64,
    /// Where an unknown consumer begins.
    pub new_consumer_starts: NewConsumerStarts,
}

impl Default for JournalOptions {
    fn default() -> Self {
        Self {
            may_lead: true,
            window_messages_max: 200,
            dedup_keys_max: 32_768,
            segment_bytes_max: 64 * 1024 * 1024,
            consumers_max: 256,
            sessions_max: 64,
            consumer_bytes_max: 128 * 1024,
            audit_day_bytes_max: 32 * 1024 * 1024,
            lock_wait_ms: 2_000,
            new_consumer_starts: NewConsumerStarts::Oldest,
        }
    }
}

/// A leader's sign of running, as a follower sees it. It changes each time that the leader shows that it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pulse {
    /// The term of its leadership.
    pub term: u64,
    pub(super) beat: Option<Stamp>,
}

/// The result of opening the journal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct OpenReport {
    /// Whether this process leads.
    pub leader: bool,
    /// Records that can be read.
    pub records: u64,
    /// The newest record's place; 0 when there is none.
    pub last_seq: u64,
    /// All damage that was found, in file order.
    pub findings: Vec<Finding>,
}

/// Damage that was found, and how it was mended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "finding", rename_all = "snake_case")]
pub enum Finding {
    /// The end of a file was a half-written record; it was cut and its bytes kept aside.
    TornTail {
        /// The journal file.
        file: String,
        /// Bytes cut.
        bytes: u64,
        /// Where they are kept.
        kept_in: String,
    },
    /// A file had damage between intact records. The intact ones are served.
    Damaged {
        /// The journal file.
        file: String,
        /// Unreadable pieces between intact records.
        pieces: u64,
        /// Where the file as it was is kept; `None` when this process may not repair.
        kept_in: Option<String>,
    },
    /// A file's index was missing or wrong and was made again.
    IndexRebuilt {
        /// The journal file.
        file: String,
    },
    /// Lines whose place an earlier line has; the earlier one is served.
    Repeats {
        /// The journal file.
        file: String,
        /// How many.
        lines: u64,
    },
    /// The newest file could not be synced; it is read, but nothing is appended to it.
    NotSynced {
        /// The journal file.
        file: String,
        /// What the system said.
        reason: String,
    },
    /// Places in the order that no file has.
    Missing {
        /// First place.
        from_seq: u64,
        /// Last place.
        to_seq: u64,
    },
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TornTail { file, bytes, kept_in } => {
                write!(f, "{file}: cut {bytes} bytes of a half-written record, kept in {kept_in}")
            }
            Self::Damaged { file, pieces, kept_in: Some(kept_in) } => {
                write!(f, "{file}: {pieces} unreadable pieces, the file as it was is kept in {kept_in}")
            }
            Self::Damaged { file, pieces, kept_in: None } => {
                write!(f, "{file}: {pieces} unreadable pieces, left as they are")
            }
            Self::IndexRebuilt { file } => write!(f, "{file}: index made again"),
            Self::Repeats { file, lines } => write!(f, "{file}: {lines} lines repeat earlier ones"),
            Self::NotSynced { file, reason } => {
                write!(f, "{file}: cannot be synced, so it is no longer written: {reason}")
            }
            Self::Missing { from_seq, to_seq } => write!(f, "records {from_seq} to {to_seq} are in no file"),
        }
    }
}

/// The result of [`Journal::append`](super::Journal::append). All records in `new` are synced.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Appended {
    /// Records made, in the order given.
    pub new: Vec<crate::record::Record>,
    /// The number of drafts whose key was known.
    pub duplicates: usize,
}

/// Where the record of a key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// There is none, or it was dropped, or forgotten.
    Nowhere,
    /// It was shown from memory, and the disk has not taken it yet.
    InMemory,
    /// The disk has it.
    OnDisk,
}

/// Counters of one process since its start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JournalLine {
    /// Messages that left the memory window before their host had them; they are served from the files.
    pub spilled_total: u64,
    /// Messages that were lost because the disk took no writes for too long.
    pub dropped_total: u64,
    /// Unreadable pieces found in journal files.
    pub damaged_total: u64,
    /// Why the disk takes no writes; absent while it takes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_failure: Option<String>,
    /// Lines of the audit log that could not be written.
    #[serde(default)]
    pub interactions_failed_total: u64,
    /// Why the last of those lines could not be written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interactions_failure: Option<String>,
}

/// Counters since this process opened the journal, and the journal's newest places.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct JournalStats {
    /// Whether this process leads.
    pub leader: bool,
    /// Records that can be read.
    pub records: u64,
    /// The newest record's place; 0 when there is none.
    pub last_seq: u64,
    /// The newest record that the disk has for sure.
    pub durable_seq: u64,
    /// Records in the in-memory window.
    pub window_messages: usize,
    /// The counters that the session's file shows.
    pub counts: JournalLine,
    /// Notes of hand-outs and acknowledgements that could not be written at once.
    pub notes_failed_total: u64,
}
