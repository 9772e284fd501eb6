//! Permission relay: a host's request to use a tool goes to the operator's 1:1 chat, and the answer comes back.
//! It must never take an answer from anybody else, from anywhere else, in any other form, or twice.
//!
//! From the ground up: `form` reads an answer, `notice` words a request, `book` holds what was asked, so that whichever
//! session reads Teams can tell the one that asked, and `relay` is the loop between the host and the chat.

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
/// The host's notification.
pub const REQUEST_METHOD: &str = "notifications/claude/channel/permission_request";
/// The server's answer.
pub const ANSWER_METHOD: &str = "notifications/claude/channel/permission";

/// Requests that wait to be sent; further ones are left to the host's own dialog.
pub const REQUESTS_MAX: usize = 8;

/// What a host asks.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PermissionRequest {
    /// Five letters, made by the host.
    pub request_id: String,
    /// The tool.
    pub tool_name: String,
    /// What the host says it does.
    #[serde(default)]
    pub description: String,
    /// The beginning of its arguments.
    #[serde(default)]
    pub input_preview: String,
}

/// What the operator answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PermissionAnswer {
    /// Of the request.
    pub request_id: String,
    /// The verdict.
    pub behavior: Behavior,
}

/// The operator's verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Behavior {
    /// Use it, this once.
    Allow,
    /// Do not.
    Deny,
}

/// A session's ends of the relay.
#[derive(Debug)]
pub struct PermissionPort {
    /// Requests of the host.
    pub requests: tokio::sync::mpsc::Sender<PermissionRequest>,
    /// Answers for the host.
    pub answers: tokio::sync::mpsc::Receiver<PermissionAnswer>,
}
