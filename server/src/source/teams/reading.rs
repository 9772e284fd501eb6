//! Reading one chat back to its cursor, page by page.
//! It must never stop before the cursor is crossed, as long as the bound allows.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::wire::{self, Message, Preview};
use crate::graph::{Failure, GraphClient, GraphError, Scope};

/// Pages of one reading; with 50 messages each, 10,000 messages.
const READ_PAGES_MAX: usize = 200;
/// How long a later page is tried again before the whole reading is given up and begins anew.
const PAGE_PATIENCE: Duration = Duration::from_secs(60);

/// What to read.
#[derive(Debug, Clone)]
pub(super) struct ReadJob {
    pub(super) chat_id: String,
    /// Everything that changed after this.
    pub(super) after: Timestamp,
    pub(super) page_size: u32,
    /// Whether Graph is asked to filter; a tenant that refuses it gets the plain question.
    pub(super) filtered: bool,
    /// The preview that caused it; none for a sweep.
    pub(super) wanted: Option<Preview>,
}

/// What was read.
#[derive(Debug)]
pub(super) struct Pages {
    /// Oldest first.
    pub(super) messages: Vec<Message>,
    pub(super) unreadable: usize,
    /// Whether the bound ended it: there are older messages that nobody has read.
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
    // A filter counts only beside an order by the same property.
    let mut query = vec![("$top", top.as_str()), ("$orderby", "lastModifiedDateTime desc")];
    if job.filtered {
        query.push(("$filter", &filter));
    }
    let scope = Scope::Chat(&job.chat_id);
    let mut url = client.url(&["me", "chats", &job.chat_id, "messages"], &query);
    let mut read = Pages { messages: Vec::new(), unreadable: 0, cut: false };
    for page_number in 0..READ_PAGES_MAX {
        let page = if page_number == 0 {
            client.get_once(&url, scope).await?
        } else {
            client.get(&url, scope, PAGE_PATIENCE).await?
        }
        .body;
        if !wire::is_page(&page) {
            return Err(GraphError::malformed("the list of messages has no `value`"));
        }
        let (messages, unreadable) = wire::items(&page, wire::message);
        read.unreadable += unreadable;
        // The filter is checked again: some tenants ignore it.
        let crossed = messages.iter().any(|m| m.modified.is_some_and(|at| at <= job.after));
        read.messages.extend(messages.into_iter().filter(|m| m.modified.is_none_or(|at| at > job.after)));
        let next = if crossed { None } else { client.next_link(&page)? };
        let Some(next) = next else {
            read.messages.reverse();
            return Ok(read);
        };
        url = next;
    }
    read.cut = true;
    read.messages.reverse();
    Ok(read)
}

impl ReadDone {
    /// Whether Graph refused the question itself, so that the plain one is worth a try.
    pub(super) fn filter_was_refused(&self) -> bool {
        self.job.filtered && matches!(&self.outcome, Err(e) if e.failure == Failure::BadRequest)
    }
}
