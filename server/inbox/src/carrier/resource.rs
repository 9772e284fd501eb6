//! The resource `entraclaw://inbox`: the inbox as a document, and the notice that it has changed.
//!
//! Reading it only looks: it must never retire a message.

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

/// The list of resources.
pub(crate) fn list() -> Value {
    json!({"resources": [{
        "uri": URI,
        "name": "inbox",
        "title": "Inbox",
        "description":
            "Number of unread messages and the newest of them. Reading it acknowledges nothing; inbox_pull does.",
        "mimeType": MIME_TYPE
    }]})
}

/// The document as an answer to `resources/read`.
pub(crate) fn contents(text: &str) -> Value {
    json!({"contents": [{"uri": URI, "mimeType": MIME_TYPE, "text": text}]})
}
