//! The errors of the journal. Each message says what failed, where, and how to fix it.
//!
//! It must never carry the text of a message.

use std::io;

/// An error of the journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The storage failed. The system's message names the file.
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
    /// The disk does not take the note of what a command shows, so the command shows nothing: it can't remember it later.
    #[error(
        "messages wait, but the disk takes no note of whom they are shown to; free some space under the home folder, \
         or call inbox_pull"
    )]
    NotNoted,
    /// A follower called `append`; only the leader may.
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
    /// The limit of consumers is reached.
    #[error(
        "there are {max} consumers already; use one of their names, or remove one that is gone: `entraclaw consumers \
         remove NAME`"
    )]
    TooManyConsumers {
        /// How many there can be.
        max: usize,
    },
    /// The limit of sessions of this consumer is reached.
    #[error(
        "consumer {consumer} has {max} sessions already; end one, or give this one another `--consumer` name"
    )]
    TooManySessions {
        /// The consumer.
        consumer: String,
        /// How many there can be.
        max: u16,
    },
    /// Another process holds a lock for too long.
    #[error("{lock} is held by another process for more than {waited_ms} ms; end that process if it hangs")]
    Busy {
        /// The lock file.
        lock: String,
        /// How long we waited.
        waited_ms: u64,
    },
    /// `since_id` names no message, or one that is too old to be found.
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
    /// Wraps an error of the storage, for `map_err`.
    pub(crate) fn storage(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Storage { doing, source }
    }
}

/// A result whose error is [`JournalError`].
pub type Result<T, E = JournalError> = std::result::Result<T, E>;
