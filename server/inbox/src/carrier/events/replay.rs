//! The journal from a cursor on, as events, a bounded piece at a time.
//!
//! It must never leave out a record without saying so, nor stay in one place when there is something to read.

use jiff::Timestamp;

use super::cursor::Cursor;
use super::filter::Asked;
use super::shapes::EventOccurrence;
use crate::journal::{Journal, JournalError};
use crate::record::Record;
use crate::tool::MessageView;

/// Records read from the journal at a time.
const READ_RECORDS: usize = 32;

/// Most of each in one piece.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) events: usize,
    /// Texts of the messages together, in bytes; one message always fits.
    pub(crate) text_bytes: usize,
    /// Records looked at, wanted or not.
    pub(crate) records: usize,
}

/// One answer to a poll.
pub(crate) const POLL: Bounds = Bounds { events: 100, text_bytes: 256 * 1024, records: 4_096 };
/// What a stream sends before others have their turn.
pub(crate) const PAGE: Bounds = Bounds { events: 32, text_bytes: 64 * 1024, records: 1_024 };

/// A piece of the journal.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Replay {
    /// Oldest first, each with the cursor after it.
    pub(crate) events: Vec<EventOccurrence>,
    /// After everything that was looked at.
    pub(crate) cursor: Cursor,
    /// Something between was left out: it is gone, or too old.
    pub(crate) truncated: bool,
    /// There is more to look at.
    pub(crate) has_more: bool,
}

/// Reads on after `from`. What the journal took before `oldest` is left out.
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

/// Age counts from when the journal took a message, so that what comes in late is news to a stream all the same.
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
