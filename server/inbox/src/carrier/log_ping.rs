//! The log ping: a `notifications/message` that says that something came, for clients that show server logs.
//!
//! It must never hold a person's text: logs end up in files that nobody guards.

use serde_json::{Value, json};

use crate::record::Record;

/// The notification's method.
pub const METHOD: &str = "notifications/message";

/// The logger's name.
pub const LOGGER: &str = "entraclaw.inbox";

/// Tells the waiting call that asked for log messages what its answer is about to bring. Names stay out: in its era
/// a log must hold nothing personal.
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
