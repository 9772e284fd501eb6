//! Permission relay: a host's request to use a tool goes to the operator's 1:1 chat, and the answer comes
//! back. It must never take an answer from another person, from another chat, in another form, or twice.
//!
//! From the ground up: `form` reads an answer, `notice` words a request, `book` keeps the questions, so that
//! the session that reads Teams can pass an answer to the session that asked, and `relay` is the loop between
//! the host and the chat.

mod book;
mod form;
mod notice;
mod relay;

use serde::{Deserialize, Serialize};

pub use book::{Answer, BOOK_FILE, Book, QUESTION_LIFE, Question, Taken, outcome, questions, take};
pub use form::{CODE_CHARS, is_code, parse};
pub use relay::{Relay, Teller, run};

/// The experimental capability that announces the relay.
pub const CAPABILITY: &str = "claude/channel/permission";
/// The method of the host's notification.
pub const REQUEST_METHOD: &str = "notifications/claude/channel/permission_request";
/// The method of the server's answer.
pub const ANSWER_METHOD: &str = "notifications/claude/channel/permission";

/// The most requests that wait to be sent; further ones are left to the host's own dialog.
pub const REQUESTS_MAX: usize = 8;

/// A host's request to use a tool.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PermissionRequest {
    /// The request's id: five letters, made by the host.
    pub request_id: String,
    /// The tool's name.
    pub tool_name: String,
    /// The host's description of the tool call.
    #[serde(default)]
    pub description: String,
    /// The beginning of the tool's arguments.
    #[serde(default)]
    pub input_preview: String,
}

/// The operator's answer to a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PermissionAnswer {
    /// The request's id.
    pub request_id: String,
    /// The verdict.
    pub behavior: Behavior,
}

/// The operator's verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Behavior {
    /// The tool may be used, this once.
    Allow,
    /// The tool may not be used.
    Deny,
}

/// The session's two ends of the relay.
#[derive(Debug)]
pub struct PermissionPort {
    /// Takes the host's requests.
    pub requests: tokio::sync::mpsc::Sender<PermissionRequest>,
    /// Yields the answers for the host.
    pub answers: tokio::sync::mpsc::Receiver<PermissionAnswer>,
}
