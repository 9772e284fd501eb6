//! Reads one chat back to its cursor, page by page, and on into the overlap where late messages turn up.
//! It must never stop before the cursor is crossed, as long as the bound allows.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::page::{LastPage, Page};
use super::wire::{self, Message, Preview};
use crate::graph::{Failure, GraphClient, GraphError, Scope};

/// The most pages of one reading; with 50 messages each, these are 10,000 messages.
const READ_PAGES_MAX: usize = 200;
/// The name of the list in errors.
const WHAT: &str = "the list of messages";
/// How long a later page is tried again before the whole reading is given up and started again.
const PAGE_PATIENCE: Duration = Duration::from_secs(60);

/// The order for one reading.
#[derive(Debug, Clone)]
pub(super) struct ReadJob {
    pub(super) chat_id: String,
    /// The reading covers every message that changed after this.
    pub after: Timestamp,
    /// Earlier readings covered changes up to here; a message from before that turns up only now is late.
    pub(super) read_to: Timestamp,
    pub(super) page_size: u32,
    /// Whether Graph is asked to filter; a tenant that refuses this is asked without a filter.
    pub(super) filtered: bool,
    /// The preview that caused the reading; none for a sweep.
    pub(super) wanted: Option<Preview>,
    /// Whether a new message waits in the chat. Then the overlap is read only as far as that costs little. It
    /// may become true during a sweep.
    pub(super) hurry: Rc<Cell<bool>>,
    /// The first page of the last reading.
    pub(super) last: Rc<LastPage<Message>>,
}

impl ReadJob {
    /// Whether this many messages of the overlap are enough for now. After a burst the overlap is many pages
    /// long, and Graph gives one page a second of a chat.
    fn may_stop(&self, overlap_messages: usize) -> bool {
        self.hurry.get() && overlap_messages * 2 >= self.page_size as usize
    }
}

/// The messages of a reading.
#[derive(Debug)]
pub(super) struct Pages {
    /// Oldest first.
    pub(super) messages: Vec<Message>,
    pub(super) unreadable: usize,
    /// The reading covered every message that changed after this.
    pub from: Timestamp,
    /// Whether the bound ended the reading, so that older messages stay unread.
    pub(super) cut: bool,
}

/// A finished reading.
#[derive(Debug)]
pub(super) struct ReadDone {
    pub(super) job: ReadJob,
    pub(super) outcome: Result<Pages, GraphError>,
}

/// Reads a chat.
pub(super) async fn read(client: Arc<GraphClient>, job: ReadJob) -> ReadDone {
    let outcome = pages(&client, &job).await;
    ReadDone { job, outcome }
}

async fn pages(client: &GraphClient, job: &ReadJob) -> Result<Pages, GraphError> {
    let top = job.page_size.to_string();
    let filter = format!("lastModifiedDateTime gt {}", job.after);
    // Graph applies a filter only together with an order by the same property.
    let mut query = vec![("$top", top.as_str()), ("$orderby", "lastModifiedDateTime desc")];
    if job.filtered {
        query.push(("$filter", &filter));
    }
    let scope = Scope::Chat(&job.chat_id);
    let mut url = client.url(&["me", "chats", &job.chat_id, "messages"], &query);
    let mut read = Pages { messages: Vec::new(), unreadable: 0, from: job.after, cut: false };
    let mut overlap_messages = 0;
    for page_number in 0..READ_PAGES_MAX {
        let page = if page_number == 0 {
            job.last.ask(client, (&url, scope), WHAT, wire::message).await?
        } else {
            let answer = client.get(&url, scope, PAGE_PATIENCE).await?;
            Rc::new(Page::read(&answer, WHAT, wire::message)?)
        };
        let messages = &page.items;
        read.unreadable += page.unreadable;
        // The filter is checked again because some tenants ignore it.
        let oldest = messages.iter().filter_map(|m| m.modified).min();
        let crossed = oldest.is_some_and(|at| at <= job.after);
        overlap_messages +=
            messages.iter().filter(|m| m.modified.is_some_and(|at| at <= job.read_to)).count();
        let is_new = |m: &&Message| m.modified.is_none_or(|at| at > job.after);
        read.messages.extend(messages.iter().filter(is_new).cloned());
        let next = if crossed { None } else { page.next(client)? };
        let Some(next) = next else {
            read.messages.reverse();
            return Ok(read);
        };
        if let Some(oldest) = oldest.filter(|at| *at <= job.read_to && job.may_stop(overlap_messages)) {
            read.from = oldest;
            read.messages.reverse();
            return Ok(read);
        }
        url = next;
    }
    read.cut = true;
    read.messages.reverse();
    Ok(read)
}

impl ReadDone {
    /// Whether Graph refused the request itself, so that one without a filter is worth a try.
    pub(super) fn filter_was_refused(&self) -> bool {
        self.job.filtered && matches!(&self.outcome, Err(e) if e.failure == Failure::BadRequest)
    }
}
