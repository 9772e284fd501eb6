//! A task as it looks on the wire, in both forms.
//!
//! It must never say what its provider has not told.

use serde_json::{Value, json};

use crate::era::Era;

/// A task as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskNow {
    /// Its id.
    pub id: String,
    /// Its state, by the word of the protocol.
    pub status: &'static str,
    /// When it was created, RFC 3339.
    pub created_at: String,
    /// When it last changed, RFC 3339.
    pub updated_at: String,
    /// A sentence about it.
    pub message: Option<String>,
    /// How long it is kept, in milliseconds; `None` is without a limit.
    pub ttl_ms: Option<u64>,
    /// How often a client should ask, in milliseconds.
    pub poll_interval_ms: u64,
}

impl TaskNow {
    /// The task in the form of an era.
    pub fn json(&self, era: Era) -> Value {
        let (ttl, interval) = match era {
            Era::Legacy => ("ttl", "pollInterval"),
            Era::Modern => ("ttlMs", "pollIntervalMs"),
        };
        let mut view = json!({
            "taskId": self.id,
            "status": self.status,
            "createdAt": self.created_at,
            "lastUpdatedAt": self.updated_at,
            ttl: self.ttl_ms,
            interval: self.poll_interval_ms
        });
        if let Some(message) = &self.message {
            view["statusMessage"] = message.as_str().into();
        }
        view
    }
}
