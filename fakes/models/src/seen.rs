//! What a fake server was asked, and how it went.

use serde_json::Value;

/// One request.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// When it came, after the start of the server.
    pub at_ms: u64,
    /// Its method.
    pub method: String,
    /// Its path, with the query.
    pub path: String,
    /// Its body; null if it is no JSON.
    pub body: Value,
    /// The tokens of the question.
    pub prompt_tokens: u64,
    /// Those of them that were not computed again.
    pub cached_tokens: u64,
    /// Those that were thrown away without a word, because the context is too short.
    pub cut_tokens: u64,
    /// The tokens that were sent.
    pub sent_tokens: u64,
    /// The tokens that were made after the client had gone.
    pub wasted_tokens: u64,
    /// How it ended.
    pub end: End,
    /// When it ended, after the start of the server.
    pub ended_ms: Option<u64>,
}

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It has not.
    Open,
    /// All was sent.
    Whole,
    /// The client closed the connection.
    ClosedByClient,
    /// The server broke the connection.
    Dropped,
    /// The server refused.
    Refused,
}
