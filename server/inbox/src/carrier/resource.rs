//! The resource `entraclaw://inbox`: the inbox as a document, and the notice that it has changed.
//!
//! Reading it only looks: it must never retire a message.

use rmcp::model::Resource;
use serde_json::{Value, json};

/// The resource's address.
pub const URI: &str = "entraclaw://inbox";

/// The notification of a change, in both eras.
pub const METHOD_UPDATED: &str = "notifications/resources/updated";

/// Most messages in the document.
pub(crate) const MESSAGES_MAX: u64 = 20;

/// Most bytes of the document; no host seen cuts resources below this.
pub(crate) const BYTES_MAX: usize = 20_000;

const MIME_TYPE: &str = "application/json";

/// The inbox as `resources/list` shows it.
pub(crate) fn resource() -> Resource {
    Resource::new(URI, "inbox")
        .with_title("Inbox")
        .with_description(
            "Number of unread messages and the newest of them. Reading it acknowledges nothing; inbox_pull does.",
        )
        .with_mime_type(MIME_TYPE)
}

/// The document as an answer to `resources/read`.
pub(crate) fn contents(text: &str) -> Value {
    json!({"contents": [{"uri": URI, "mimeType": MIME_TYPE, "text": text}]})
}
