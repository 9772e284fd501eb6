//! The notices that a command gives a model from outside its session: `entraclaw wait` in a background shell,
//! and hooks.
//!
//! A command can't know whether its output was read, so messages that it prints stay unread. They come again,
//! marked, until the consumer answers them or takes them with a tool. It must never retire a message, and
//! never show a message that it can't note: the next command would show it again, as new, and would wake the
//! model again and again.

mod hook;
mod hooked_session;
mod host_version;
pub mod reader;
mod rows;
mod text;
mod wait;
mod waking;

use std::sync::Arc;

pub use hook::{BLOCKS_IN_A_ROW_MAX, HookAsk, Hooked, hook};
pub use host_version::{last_told, who_is};
pub use rows::{Form, HOOKS, HookRow, Moment};
pub use text::NoticeView;
pub use wait::{EXIT_FAILED, EXIT_NOBODY_POLLS, EXIT_NOTHING_CAME, Format, WaitAsk, Waited, wait};
pub use waking::{EXIT_WAKES, WAKING_VARIABLES, WakingAsk, waking};

use crate::journal::{
    Batch, ConsumerName, DeliveryId, Journal, JournalError, JournalOptions, Orphans, Purpose, Query,
};
use entraclaw_mcp::{ANSWER_BYTES_MAX, FRAME_BYTES};
use entraclaw_seams::clock::Clock;
use entraclaw_seams::storage::Storage;

/// The most messages in one notice.
const NOTICE_ITEMS_MAX: usize = 20;

/// The storage and the clock that a notice needs.
#[derive(Clone)]
pub struct NoticeParts {
    /// The home folder.
    pub storage: Arc<dyn Storage>,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
}

impl NoticeParts {
    /// The journal, for a process that never polls.
    fn journal(&self) -> Result<Journal, JournalError> {
        let options = JournalOptions { may_lead: false, ..JournalOptions::default() };
        Ok(Journal::open(self.storage.clone(), self.clock.clone(), options)?.0)
    }

    fn orphans(&self, consumer: &ConsumerName) -> Orphans {
        Orphans::of(self.storage.clone(), self.clock.clone(), consumer)
    }
}

/// Takes the messages to show, and notes them before it returns; `NotNoted` when the disk refuses the note.
fn take(
    journal: &Journal,
    consumer: &ConsumerName,
    who: &str,
    purpose: Purpose,
) -> Result<Batch, JournalError> {
    let query = Query {
        limit: NOTICE_ITEMS_MAX,
        bytes_max: ANSWER_BYTES_MAX - FRAME_BYTES,
        purpose,
        ..Query::default()
    };
    let mut mailbox = journal.mailbox(consumer, who)?;
    let batch = mailbox.hand_out(DeliveryId(1), &query)?;
    if mailbox.has_unwritten_notes() {
        mailbox.drop_unwritten_notes();
        return Err(JournalError::NotNoted);
    }
    Ok(batch)
}

/// The words for a person when nothing can be shown.
fn trouble(error: JournalError) -> String {
    if matches!(error, JournalError::NotNoted) { error.to_string() } else { unreadable(error) }
}

fn unreadable(error: impl std::fmt::Display) -> String {
    format!("the inbox can't be read: {error}; run `entraclaw doctor`")
}
