//! What began the host's session, so that a new engine can be told of it.
//!
//! It must never keep more than the two lines that open a session.

use serde_json::{Value, json};

/// The id of an `initialize` that the bridge sends again. No host's own id is like it.
const AGAIN: &str = "entraclaw-bridge-initialize";

/// The lines that opened the session, in a protocol that has one.
#[derive(Debug, Default)]
pub(super) struct Opening {
    initialize: Option<Vec<u8>>,
    initialized: Option<Vec<u8>>,
}

impl Opening {
    /// Keeps the line if it opens the session.
    pub(super) fn keep(&mut self, method: Option<&str>, line: &[u8]) {
        match method {
            Some("initialize") => (self.initialize, self.initialized) = (Some(line.to_owned()), None),
            Some("notifications/initialized") => self.initialized = Some(line.to_owned()),
            _ => {}
        }
    }

    /// Whether there is a session.
    pub(super) fn is_there(&self) -> bool {
        self.initialize.is_some()
    }

    /// The request that opens the session anew, if there is a session.
    pub(super) fn again(&self) -> Option<Vec<u8>> {
        let mut request: Value = serde_json::from_slice(self.initialize.as_ref()?).ok()?;
        request["id"] = json!(AGAIN);
        let mut line = request.to_string().into_bytes();
        line.push(b'\n');
        Some(line)
    }

    /// Whether this is the id of that request.
    pub(super) fn is_again(id: &Value) -> bool {
        id == AGAIN
    }

    /// The notification that follows.
    pub(super) fn follows(&self) -> Option<&[u8]> {
        self.initialized.as_deref()
    }
}
