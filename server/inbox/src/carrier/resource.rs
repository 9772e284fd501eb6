//! The resource `entraclaw://inbox`: the inbox as a document, and the notification that it has changed.
//!
//! Reading it must never retire a message.

use rmcp::model::Resource;
use serde_json::{Value, json};

/// The resource's address.
pub const URI: &str = "entraclaw://inbox";

/// The notification that a resource has changed, in both eras.
pub const METHOD_UPDATED: &str = "notifications/resources/updated";

/// The most messages in the document.
pub(crate) const MESSAGES_MAX: u64 = 20;

/// The most bytes of the document; no known host cuts resources below this.
pub(crate) const BYTES_MAX: usize = 20_000;

const MIME_TYPE: &str = "application/json";

/// The inbox as an entry of `resources/list`.
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
