//! The journal from a cursor on, as events, in pieces of limited size.
//!
//! It must never leave out a record without saying so, nor stay in one place while there are more records.

use jiff::Timestamp;

use super::cursor::Cursor;
use super::filter::Asked;
use super::shapes::EventOccurrence;
use crate::journal::{Journal, JournalError};
use crate::record::Record;
use crate::tool::MessageView;

/// Records read from the journal at a time.
const READ_RECORDS: usize = 32;

/// The limits of one piece.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) events: usize,
    /// Bytes of the messages' texts together; one message always fits.
    pub(crate) text_bytes: usize,
    /// Records that are read, wanted or not.
    pub(crate) records: usize,
}

/// The limits of one answer to a poll.
pub(crate) const POLL: Bounds = Bounds { events: 100, text_bytes: 256 * 1024, records: 4_096 };
/// The limits of what a stream sends before other streams have their turn.
pub(crate) const PAGE: Bounds = Bounds { events: 32, text_bytes: 64 * 1024, records: 1_024 };

/// A piece of the journal.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Replay {
    /// The events, oldest first, each with the cursor after it.
    pub(crate) events: Vec<EventOccurrence>,
    /// The place after the last record that was read.
    pub(crate) cursor: Cursor,
    /// Whether records were left out, because they are deleted or too old.
    pub(crate) truncated: bool,
    /// Whether there are more records.
    pub(crate) has_more: bool,
}

/// Reads the journal after `from`. Records that the journal took before `oldest` are left out.
pub(crate) fn replay(
    journal: &Journal,
    from: Cursor,
    asked: &Asked,
    oldest: Option<Timestamp>,
    bounds: Bounds,
) -> Result<Replay, JournalError> {
    let mut piece = Replay { events: Vec::new(), cursor: from, truncated: false, has_more: false };
    let (mut looked_at, mut text_bytes) = (0, 0);
    loop {
        let page = journal.read_after(piece.cursor.seq(), READ_RECORDS)?;
        if page.is_empty() {
            return Ok(piece);
        }
        for record in page {
            let asked_for = asked.wants(&record);
            let wanted = asked_for && !is_too_old(&record, oldest);
            text_bytes += if wanted { record.content_text_sanitized.len() } else { 0 };
            let full = piece.events.len() == bounds.events
                || looked_at == bounds.records
                || text_bytes > bounds.text_bytes && !piece.events.is_empty();
            if full {
                piece.has_more = true;
                return Ok(piece);
            }
            looked_at += 1;
            piece.truncated |= asked_for && !wanted || record.seq > piece.cursor.seq() + 1;
            piece.cursor = Cursor::at(&record);
            if wanted {
                piece.events.push(event(&record, asked, piece.cursor));
            }
        }
    }
}

/// The age of a record counts from when the journal took it, so that a late message is new to a stream too.
fn is_too_old(record: &Record, oldest: Option<Timestamp>) -> bool {
    let taken = record.received_at.parse::<Timestamp>().ok();
    oldest.zip(taken).is_some_and(|(oldest, taken)| taken < oldest)
}

fn event(record: &Record, asked: &Asked, after: Cursor) -> EventOccurrence {
    EventOccurrence {
        event_id: record.key.clone(),
        name: asked.kind.name().to_owned(),
        timestamp: record.ts.clone(),
        data: MessageView::of(record, false, false),
        cursor: Some(after.to_string()),
    }
}
