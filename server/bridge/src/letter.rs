//! What the bridge sees of a line: its id and its method, and nothing of what it says.
//!
//! It must never read a line more than once.

use serde::Deserialize;
use serde_json::{Value, json};

/// A line of JSON-RPC.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Letter {
    #[serde(default)]
    pub(super) id: Option<Value>,
    #[serde(default)]
    pub(super) method: Option<String>,
}

impl Letter {
    /// Reads a line. One that is no message has neither id nor method, and is passed on for the engine to refuse.
    pub(super) fn of(line: &[u8]) -> Self {
        serde_json::from_slice(line).unwrap_or_default()
    }

    /// The id, if it is a request.
    pub(super) fn request(&self) -> Option<&Value> {
        self.id.as_ref().filter(|_| self.method.is_some())
    }

    /// The id, if it is an answer.
    pub(super) fn answer(&self) -> Option<&Value> {
        self.id.as_ref().filter(|_| self.method.is_none())
    }
}

/// The answer to a request whose engine is gone. Without a session it is one of 2026-07-28, whose results name their type.
pub(super) fn gone(id: &Value, is_call: bool, has_session: bool, says: &str) -> Vec<u8> {
    let answer = if is_call {
        let text = json!({"error": "execution_error", "message": says}).to_string();
        let mut result = json!({"content": [{"type": "text", "text": text}], "isError": true});
        if !has_session {
            result["resultType"] = json!("complete");
        }
        json!({"jsonrpc": "2.0", "id": id, "result": result})
    } else {
        json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": says}})
    };
    let mut line = answer.to_string().into_bytes();
    line.push(b'\n');
    line
}
