//! The log ping: a `notifications/message` that announces new messages, for clients that show server logs.
//!
//! It must never hold a person's text, because logs end up in unprotected files.

use serde_json::{Value, json};

use crate::record::Record;

/// The notification's method.
pub const METHOD: &str = "notifications/message";

/// The logger's name.
pub const LOGGER: &str = "entraclaw.inbox";

/// Announces the coming answer to a waiting call that asked for log messages. Names are left out, because in
/// that era a log must hold nothing personal.
pub(crate) fn request_ping(newest: &Record, count: u64, unread: u64) -> Value {
    let mut ping = ping(newest, count, unread);
    if let Some(Value::Object(data)) = ping.get_mut("data") {
        data.remove("from");
    }
    ping
}

/// Announces `count` new messages, the newest of which is `newest`.
pub(crate) fn ping(newest: &Record, count: u64, unread: u64) -> Value {
    let summary = if count == 1 { "1 new message".to_owned() } else { format!("{count} new messages") };
    json!({
        "level": "info",
        "logger": LOGGER,
        "data": {
            "channel": newest.channel.as_str(),
            "from": newest.from,
            "unread": unread,
            "id": newest.id,
            "summary": summary
        }
    })
}
