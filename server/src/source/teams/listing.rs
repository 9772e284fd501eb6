//! The list of chats, newest first, as far down as anything can have changed: one request when nothing did.
//! It must never page through all chats just because there are many.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::wire::{self, ChatRow};
use crate::graph::{Failure, GraphClient, GraphError, Scope};

/// Pages of one list; with 50 chats each, 2,000 chats.
const LIST_PAGES_MAX: usize = 40;
/// The only order that Graph documents for chats.
const NEWEST_FIRST: &str = "lastMessagePreview/createdDateTime desc";
const NEXT_LINK: &str = "@odata.nextLink";
/// How long a later page is tried again before the whole list counts as failed.
const PAGE_PATIENCE: Duration = Duration::from_secs(15);

/// What to ask for.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListJob {
    /// Chats whose newest message is older than this have been dealt with.
    pub(super) stop_before: Timestamp,
    pub(super) page_size: u32,
    /// Whether to ask for an order; without one, all chats are listed.
    pub(super) sorted: bool,
}

/// The first page of the last list, as it came and as it was read. Mostly it comes again, to the byte.
#[derive(Debug, Default)]
pub(super) struct FirstPage {
    bytes: Vec<u8>,
    url: String,
    page: Rc<Page>,
}

/// A page that was read.
#[derive(Debug, Default)]
struct Page {
    rows: Vec<ChatRow>,
    unreadable: usize,
    /// `@odata.nextLink`, unchecked.
    next: Option<Value>,
}

impl Page {
    fn read(body: &Value) -> Result<Self, GraphError> {
        if !wire::is_page(body) {
            return Err(GraphError::malformed("the list of chats has no `value`"));
        }
        let (rows, unreadable) = wire::items(body, wire::chat);
        Ok(Self { rows, unreadable, next: body.get(NEXT_LINK).cloned() })
    }
}

/// What was listed.
#[derive(Debug)]
pub(super) struct Listing {
    pub(super) rows: Vec<ChatRow>,
    /// Whether there are no other chats.
    pub(super) complete: bool,
    /// Whether Graph took the order; it is not asked for again for a while when not.
    pub(super) sorted: bool,
    pub(super) unreadable: usize,
}

/// Lists chats. A refused order falls back to listing all of them.
pub(super) async fn list(
    client: Arc<GraphClient>,
    job: ListJob,
    first: Rc<RefCell<FirstPage>>,
) -> Result<Listing, GraphError> {
    match pages(&client, job, &first).await {
        Err(error) if job.sorted && error.failure == Failure::BadRequest => {
            tracing::warn!(%error, "graph refused to order the chats; all of them are listed instead");
            pages(&client, ListJob { sorted: false, ..job }, &first).await
        }
        done => done,
    }
}

async fn pages(
    client: &GraphClient,
    job: ListJob,
    first: &RefCell<FirstPage>,
) -> Result<Listing, GraphError> {
    let top = job.page_size.to_string();
    let mut query = vec![("$expand", "lastMessagePreview"), ("$top", top.as_str())];
    if job.sorted {
        query.push(("$orderby", NEWEST_FIRST));
    }
    let mut url = client.url(&["me", "chats"], &query);
    let mut listing = Listing { rows: Vec::new(), complete: false, sorted: job.sorted, unreadable: 0 };
    let mut seen = BTreeSet::new();
    for page_number in 0..LIST_PAGES_MAX {
        let page = if page_number == 0 {
            first_page(client, &url, first).await?
        } else {
            Rc::new(Page::read(&client.get(&url, Scope::Common, PAGE_PATIENCE).await?.body)?)
        };
        listing.unreadable += page.unreadable;
        let reached_old = job.sorted && page.rows.last().is_some_and(|row| is_old(row, job.stop_before));
        // The list shifts while it is read, so a chat can be on two pages.
        listing.rows.extend(page.rows.iter().filter(|row| seen.insert(row.id.clone())).cloned());
        if reached_old {
            listing.complete = page.next.is_none();
            break;
        }
        // Looked at only when it is needed, so that a bad one does no harm where the list has nothing more to tell.
        let Some(next) = page.next.as_ref().and_then(Value::as_str) else {
            listing.complete = true;
            break;
        };
        url = client.own_link(next)?;
    }
    Ok(listing)
}

/// The first page. When it is the one before again, that is not read a second time.
async fn first_page(
    client: &GraphClient,
    url: &str,
    first: &RefCell<FirstPage>,
) -> Result<Rc<Page>, GraphError> {
    let last = {
        let first = first.borrow();
        if first.url == url { first.bytes.clone() } else { Vec::new() }
    };
    let Some((answer, bytes)) = client.get_news_once(url, Scope::Common, &last).await? else {
        return Ok(Rc::clone(&first.borrow().page));
    };
    let page = Rc::new(Page::read(&answer.body)?);
    *first.borrow_mut() = FirstPage { bytes, url: url.to_owned(), page: Rc::clone(&page) };
    Ok(page)
}

/// A chat without a preview has no message at all, and stands at the end.
fn is_old(row: &ChatRow, stop_before: Timestamp) -> bool {
    row.preview.as_ref().is_none_or(|preview| preview.created.is_some_and(|created| created < stop_before))
}
