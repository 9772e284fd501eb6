//! What the agent sent to a chat.

use jiff::Timestamp;
use serde::Serialize;

/// A message that the agent sent, as it was when it was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SentMessage {
    /// When.
    pub at: Timestamp,
    /// The chat's handle.
    pub chat: String,
    /// The chat's id.
    pub chat_id: String,
    /// The message's id.
    pub message_id: String,
    /// `html` or `text`.
    pub content_type: String,
    /// The body, markers and all.
    pub content: String,
    /// Ids of the messages that it quotes.
    pub quotes: Vec<String>,
    /// Ids of whom it mentions.
    pub mentions: Vec<String>,
    /// The number of the call that sent it.
    pub call: u64,
}
