//! Lists the chats, newest first, as far down as one can have changed: one request when nothing did.
//! It must never page through all chats only because there are many.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::page::{LastPage, Page};
use super::wire::{self, ChatRow};
use crate::graph::{Failure, GraphClient, GraphError, Scope};

/// The most pages of one list; with 50 chats each, these are 2,000 chats.
const LIST_PAGES_MAX: usize = 40;
/// The only order that Graph documents for chats.
const NEWEST_FIRST: &str = "lastMessagePreview/createdDateTime desc";
/// The name of the list in errors.
const WHAT: &str = "the list of chats";
/// How long a later page is tried again before the whole list counts as failed.
const PAGE_PATIENCE: Duration = Duration::from_secs(15);

/// The order for one list.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListJob {
    /// Chats whose newest message is older than this need not be listed.
    pub(super) stop_before: Timestamp,
    /// Whether to ask for an order; without one, all chats are listed.
    pub(super) sorted: bool,
}

/// The addresses of the list, which is asked for every few seconds.
#[derive(Debug)]
pub(super) struct ListUrls {
    sorted: String,
    unsorted: String,
}

impl ListUrls {
    pub(super) fn new(client: &GraphClient, page_size: u32) -> Self {
        let top = page_size.to_string();
        let query = [("$expand", "lastMessagePreview"), ("$top", top.as_str()), ("$orderby", NEWEST_FIRST)];
        let [expand, top, _] = query;
        let path = ["me", "chats"];
        Self { sorted: client.url(&path, &query), unsorted: client.url(&path, &[expand, top]) }
    }
}

/// The outcome of one list.
#[derive(Debug)]
pub(super) struct Listing {
    pub(super) rows: Vec<ChatRow>,
    /// Whether the rows are all chats of the agent.
    pub(super) complete: bool,
    /// Whether Graph accepted the order; after a refusal the order is not asked for again for a while.
    pub(super) sorted: bool,
    pub(super) unreadable: usize,
}

/// Lists chats. When Graph refuses the order, all chats are listed without one.
pub(super) async fn list(
    client: Arc<GraphClient>,
    urls: Rc<ListUrls>,
    job: ListJob,
    last: Rc<LastPage<ChatRow>>,
) -> Result<Listing, GraphError> {
    match pages(&client, &urls, job, &last).await {
        Err(error) if job.sorted && error.failure == Failure::BadRequest => {
            tracing::warn!(%error, "graph refused to order the chats; all of them are listed instead");
            pages(&client, &urls, ListJob { sorted: false, ..job }, &last).await
        }
        done => done,
    }
}

async fn pages(
    client: &GraphClient,
    urls: &ListUrls,
    job: ListJob,
    last: &LastPage<ChatRow>,
) -> Result<Listing, GraphError> {
    let mut url = Cow::Borrowed(if job.sorted { &urls.sorted } else { &urls.unsorted });
    let mut listing = Listing { rows: Vec::new(), complete: false, sorted: job.sorted, unreadable: 0 };
    let mut seen = BTreeSet::new();
    for page_number in 0..LIST_PAGES_MAX {
        let page = if page_number == 0 {
            last.ask(client, (&url, Scope::Common), WHAT, wire::chat).await?
        } else {
            let answer = client.get(&url, Scope::Common, PAGE_PATIENCE).await?;
            Rc::new(Page::read(&answer, WHAT, wire::chat)?)
        };
        listing.unreadable += page.unreadable;
        let reached_old = job.sorted && page.items.last().is_some_and(|row| is_old(row, job.stop_before));
        // The list shifts while it is read, so a chat can be on two pages.
        listing.rows.extend(page.items.iter().filter(|row| seen.insert(row.id.clone())).cloned());
        if reached_old {
            listing.complete = page.next.is_none();
            break;
        }
        let Some(next) = page.next(client)? else {
            listing.complete = true;
            break;
        };
        url = Cow::Owned(next);
    }
    Ok(listing)
}

/// Whether a chat is older than the list has to go. One without a preview has no message, and comes last.
fn is_old(row: &ChatRow, stop_before: Timestamp) -> bool {
    row.preview.as_ref().is_none_or(|preview| preview.created.is_some_and(|created| created < stop_before))
}
