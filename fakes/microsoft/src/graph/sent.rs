//! The messages that the agent sent to a chat.

use jiff::Timestamp;
use serde::Serialize;

/// A message that the agent sent, as it was when it was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SentMessage {
    /// The instant at which it was sent.
    pub at: Timestamp,
    /// The chat's handle.
    pub chat: String,
    /// The chat's id.
    pub chat_id: String,
    /// The message's id.
    pub message_id: String,
    /// `html` or `text`.
    pub content_type: String,
    /// The body, including its markers.
    pub content: String,
    /// The ids of the messages that it quotes.
    pub quotes: Vec<String>,
    /// The ids of the people and applications that it mentions.
    pub mentions: Vec<String>,
    /// The number of the call that sent it.
    pub call: u64,
}
