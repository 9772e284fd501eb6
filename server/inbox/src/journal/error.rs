//! What can go wrong with the journal, in words that say what, where and how to fix it.
//!
//! It must never carry the text of a message.

use std::io;

/// Why the journal could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The storage said no. The system's words name the file.
    #[error("cannot {doing}: {source}")]
    Storage {
        /// What was being done, to read after "cannot".
        doing: &'static str,
        /// What the storage said.
        source: io::Error,
    },
    /// The messages are in memory and are served from there, but no disk has them: a source must keep its cursor
    /// where it is, so that it reads them again after a restart.
    #[error(
        "{held} messages are in memory only, because the disk takes no writes ({reason}); free some space under the \
         home folder, the next append tries again"
    )]
    NotDurable {
        /// Messages that wait for the disk.
        held: usize,
        /// What the storage said last.
        reason: String,
    },
    /// A command that ends can't remember what it showed, so it shows nothing that the disk does not take a note of.
    #[error(
        "messages wait, but the disk takes no note of whom they are shown to; free some space under the home folder, \
         or call inbox_pull"
    )]
    NotNoted,
    /// Only the leader appends.
    #[error("another session leads and writes the journal; call `try_lead` and append when it says yes")]
    NotLeader,
    /// A consumer's name has a wrong shape.
    #[error(
        "consumer name {name:?} is not usable: take 1 to 64 of a-z, 0-9, `.`, `_`, `-`, beginning with a letter or digit"
    )]
    ConsumerName {
        /// The name, shortened.
        name: String,
    },
    /// There are as many consumers as there can be.
    #[error(
        "there are {max} consumers already; use one of their names, or remove one that is gone: `entraclaw consumers \
         remove NAME`"
    )]
    TooManyConsumers {
        /// How many there can be.
        max: usize,
    },
    /// Every place for a session of this consumer is taken.
    #[error(
        "consumer {consumer} has {max} sessions already; end one, or give this one another `--consumer` name"
    )]
    TooManySessions {
        /// The consumer.
        consumer: String,
        /// How many there can be.
        max: u16,
    },
    /// Somebody holds a lock for too long.
    #[error("{lock} is held by another process for more than {waited_ms} ms; end that process if it hangs")]
    Busy {
        /// The lock file.
        lock: String,
        /// How long we waited.
        waited_ms: u64,
    },
    /// `since_id` names no message that is still within reach.
    #[error(
        "since_id {id:?} names no message of the journal{}; leave it empty to read from the oldest unread one",
        since_day(begins.as_deref())
    )]
    UnknownId {
        /// The id, shortened.
        id: String,
        /// The day on which the journal begins, when older ones were deleted.
        begins: Option<String>,
    },
}

fn since_day(begins: Option<&str>) -> String {
    begins.map_or_else(String::new, |day| {
        format!(", which begins on {day}: older days were deleted by retention")
    })
}

impl JournalError {
    /// Wraps what the storage said; reads well in `map_err`.
    pub(crate) fn storage(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Storage { doing, source }
    }
}

/// A result of the journal.
pub type Result<T, E = JournalError> = std::result::Result<T, E>;
