//! Teams as the tools see it.
//!
//! Whoever implements it decides which chats are acceptable, writes the interaction log before it sends, and must
//! never send twice because an answer was lost.

use futures_util::future::BoxFuture;

/// Markup of an outgoing text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentType {
    /// Teams' subset of HTML.
    Html,
    /// Plain text, shown as it is.
    Text,
}

/// A message that the model wants to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutgoingTeams {
    /// The chat, as a record names it.
    pub chat_id: String,
    /// The text, at most [`crate::tool::CONTENT_BYTES_MAX`] bytes.
    pub content: String,
    /// How to read it.
    pub content_type: ContentType,
    /// Ids of messages in the chat that it answers.
    pub reply_to: Vec<String>,
}

/// What Teams made of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// The id that Teams gave the message.
    pub message_id: String,
    /// When Teams took it, RFC 3339.
    pub ts: String,
}

/// Why a message did not, or may not have, reached the chat. The texts never hold a token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// No such chat for this agent.
    #[error("no chat with this id")]
    UnknownChat,
    /// The gate does not accept the chat.
    #[error("sending to this chat is not allowed")]
    NotAllowed,
    /// Teams would refuse the size; `bytes_max` is what it takes.
    #[error("the content is too large, at most {bytes_max} bytes are taken")]
    TooLarge {
        /// The most that is taken, in bytes.
        bytes_max: usize,
    },
    /// It was not even asked for, because it could not be right; nothing was sent. Names the field and the fix.
    #[error("{0}")]
    Refused(String),
    /// Microsoft Graph said no, or was not reached; nothing was sent.
    #[error("{0}")]
    Graph(String),
    /// The request went out and no answer came; it was not repeated.
    #[error("no answer came, it may or may not have arrived: {0}")]
    UnknownOutcome(String),
}

/// Sends messages for the model.
pub trait Outbox: Send + Sync {
    /// Sends one message. The future is driven beside the connection and is dropped when the host goes away.
    fn send_teams_message(&self, message: OutgoingTeams) -> BoxFuture<'static, Result<Sent, SendError>>;
}
