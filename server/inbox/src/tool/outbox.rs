//! Teams as the tools use it.
//!
//! An implementation decides which chats are acceptable, and writes the interaction log before it sends. It
//! must never send twice because an answer was lost.

use futures_util::future::BoxFuture;

/// Markup of an outgoing text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentType {
    /// Teams' subset of HTML.
    Html,
    /// Plain text, shown as it is.
    Text,
}

impl ContentType {
    /// Graph's word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Text => "text",
        }
    }
}

/// A message that the model wants to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutgoingTeams {
    /// The chat's id, as a record names it.
    pub chat_id: String,
    /// The text, at most [`crate::tool::CONTENT_BYTES_MAX`] bytes.
    pub content: String,
    /// Whether the text is HTML or plain.
    pub content_type: ContentType,
    /// Ids of the chat's messages that this one answers.
    pub reply_to: Vec<String>,
}

/// A message that Teams took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// The id that Teams gave the message.
    pub message_id: String,
    /// When Teams took it, RFC 3339.
    pub ts: String,
}

/// Why a message did not reach the chat, or may not have. The texts never hold a token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// This agent has no such chat.
    #[error("no chat with this id")]
    UnknownChat,
    /// The gate does not accept the chat.
    #[error("sending to this chat is not allowed")]
    NotAllowed,
    /// Teams would refuse the size; `bytes_max` is the most it takes.
    #[error("the content is too large, at most {bytes_max} bytes are taken")]
    TooLarge {
        /// The most that is taken, in bytes.
        bytes_max: usize,
    },
    /// The request was not made, because an argument was wrong; nothing was sent. The text names the field
    /// and the fix.
    #[error("{0}")]
    Refused(String),
    /// Microsoft Graph refused, or was not reached; nothing was sent.
    #[error("{0}")]
    Graph(String),
    /// The request was made and no answer came; it was not repeated.
    #[error("no answer came, it may or may not have arrived: {0}")]
    UnknownOutcome(String),
}

/// A service that sends messages for the model.
pub trait Outbox: Send + Sync {
    /// Sends one message. The future runs beside the connection and is dropped when the host disconnects.
    fn send_teams_message(&self, message: OutgoingTeams) -> BoxFuture<'static, Result<Sent, SendError>>;
}
