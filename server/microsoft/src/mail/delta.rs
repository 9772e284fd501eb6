//! Reads the inbox's delta, one page by one link, and says what Graph's errors mean.
//! It must never take a link apart, and must build only the first link of a series.

use jiff::Timestamp;

use super::wire::{self, Mail, Row};
use crate::graph::{Failure, GraphClient, GraphError, Scope, fields};

/// The fields of each mail in a page: enough to see whether the mail is worth reading.
const SELECTED: &str = "id,receivedDateTime,from";
/// The fields that are read of a mail.
const MAIL_SELECTED: &str = "id,internetMessageId,conversationId,subject,importance,from,sender,replyTo,toRecipients,ccRecipients,receivedDateTime,sentDateTime,isDraft,body,uniqueBody,internetMessageHeaders";
/// Reads only the names and types of attachments, not their contents.
const ATTACHMENTS_EXPANDED: &str = "attachments($select=id,name,contentType,isInline)";

/// A page of the delta.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) rows: Vec<Row>,
    pub(super) unreadable: usize,
    /// The link to the next page or the next round.
    pub(super) link: String,
    /// Whether this is the last page for now.
    pub(super) last: bool,
}

/// The link of a new series: every mail in the inbox that was received since `since`.
pub(super) fn first_link(client: &GraphClient, since: Timestamp) -> String {
    let filter = format!("receivedDateTime ge {since:.0}");
    client.url(
        &["me", "mailFolders", "inbox", "messages", "delta"],
        &[("$select", SELECTED), ("$filter", &filter)],
    )
}

/// Reads the page behind a link.
pub(super) async fn page(client: &GraphClient, link: &str) -> Result<Page, GraphError> {
    let page = client.get_once(link, Scope::Mailbox).await?;
    if !fields::is_page(&page) {
        return Err(GraphError::malformed("the page of mail has no `value`"));
    }
    let (rows, unreadable) = fields::items(&page, wire::row);
    // The protocol allows only one of the two links on a page; if both are there, another page follows.
    if let Some(link) = client.link(&page, "@odata.nextLink")? {
        return Ok(Page { rows, unreadable, link, last: false });
    }
    match client.link(&page, "@odata.deltaLink")? {
        Some(link) => Ok(Page { rows, unreadable, link, last: true }),
        None => Err(GraphError::malformed("the page of mail has no link to go on with")),
    }
}

/// Reads a mail; `None` when it does not exist.
pub(super) async fn mail(
    client: &GraphClient,
    id: &str,
    patience: std::time::Duration,
) -> Result<Option<Mail>, GraphError> {
    let query = [("$select", MAIL_SELECTED), ("$expand", ATTACHMENTS_EXPANDED)];
    let url = client.url(&["me", "messages", id], &query);
    match client.get(&url, Scope::Mailbox, patience).await {
        Ok(answer) => match wire::mail(&answer) {
            Some(mail) => Ok(Some(mail)),
            None => Err(GraphError::malformed("the mail has no usable id")),
        },
        Err(error) if matches!(error.failure, Failure::NotFound | Failure::Gone) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether Graph has forgotten our position, so that a new series must begin.
pub(super) fn is_reset(error: &GraphError) -> bool {
    let code = |code: &String| {
        let code = code.to_ascii_lowercase();
        code.starts_with("syncstate") || code.starts_with("resync")
    };
    error.failure == Failure::Gone
        || error.status.is_some_and(|status| (400..500).contains(&status)) && error.codes.iter().any(code)
}

/// Whether the failure concerns the connection to Graph, so that reading another mail would fail too.
pub(super) fn is_general(error: &GraphError) -> bool {
    matches!(
        error.failure,
        Failure::SignIn | Failure::Unauthorized | Failure::Throttled | Failure::Unreachable
    )
}

/// What the operator can do about the error.
pub(super) fn advice(error: &GraphError) -> &str {
    match error.failure {
        Failure::Forbidden => "check that the token has the scope Mail.ReadWrite, and Mail.Send for sending",
        Failure::NotFound => "check that the agent has a mailbox; a new one takes up to a day",
        _ => error.advice(),
    }
}
