//! Messages of JSON-RPC, one a line.

use serde_json::{Value, json};

/// A line of the client.
pub(super) enum Incoming {
    /// A request.
    Request {
        /// Its id.
        id: Value,
        /// What it asks for.
        method: String,
        /// With what.
        params: Value,
    },
    /// A notification.
    Notification {
        /// What it tells.
        method: String,
        /// With what.
        params: Value,
    },
    /// An answer to a request of the agent.
    Answer {
        /// The request's id.
        id: Value,
        /// The result; null for an error.
        result: Value,
    },
    /// No JSON. It gets no answer.
    Noise,
    /// JSON that is no message, with the answer.
    Wrong(Value),
}

impl Incoming {
    /// Reads a line.
    pub(super) fn read(line: &str) -> Self {
        let Ok(mut message) = serde_json::from_str::<Value>(line) else { return Self::Noise };
        let (id, params) = (message["id"].take(), message["params"].take());
        match (message["method"].take(), id) {
            (Value::String(method), Value::Null) => Self::Notification { method, params },
            (Value::String(method), id) => Self::Request { id, method, params },
            (_, Value::Null) => Self::Noise,
            (_, id) if message.get("result").is_some() || message.get("error").is_some() => {
                Self::Answer { id, result: message["result"].take() }
            }
            (_, id) => {
                let error =
                    error(-32600, "Invalid request: a request must carry a string \"method\"".to_owned());
                Self::Wrong(json!({"jsonrpc": "2.0", "id": id, "error": error}))
            }
        }
    }
}

/// A message as a line.
pub(super) fn line(message: &Value) -> String {
    format!("{message}\n")
}

/// An answer.
pub(super) fn result(id: &Value, result: Value) -> Value {
    let mut message = json!({"jsonrpc": "2.0", "id": id, "result": null});
    message["result"] = result;
    message
}

/// An error.
pub(super) fn error(code: i64, text: String) -> Value {
    let mut error = json!({"code": code, "message": null});
    error["message"] = text.into();
    error
}

/// No session has this id.
pub(super) fn not_found(session: &str) -> Value {
    let text = format!("Session {session} not found");
    let mut error = error(-32002, format!("Resource not found: {text}"));
    error["data"] = json!({"uri": text});
    error
}

/// The line that tells what is new in a session.
pub(super) fn update(session: &str, update: Value) -> String {
    let mut message = json!({"jsonrpc": "2.0", "method": "session/update",
        "params": {"sessionId": session, "update": null}});
    message["params"]["update"] = update;
    line(&message)
}

/// A piece of text in a session.
pub(super) fn chunk(kind: &str, text: &str) -> Value {
    json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}})
}

/// The text of a prompt's blocks.
pub(super) fn text(blocks: &Value) -> String {
    let blocks = blocks.as_array().map(Vec::as_slice).unwrap_or_default();
    blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
}
