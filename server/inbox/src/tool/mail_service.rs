//! The mailbox as the tools use it.
//!
//! An implementation shows only mails that the gate accepted, writes only to allowed addresses, and writes
//! the interaction log before it sends. It must never send twice because an answer was lost.

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::outbox::ContentType;

/// The recipients of a mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MailTarget {
    /// The sender of a delivered mail, in its conversation.
    Reply {
        /// The id of the delivered mail, as its record names it.
        message_id: String,
    },
    /// A new mail.
    New {
        /// The addresses.
        to: Vec<String>,
        /// The mail's subject.
        subject: String,
    },
}

/// A mail that the model wants to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutgoingMail {
    /// The recipients.
    pub target: MailTarget,
    /// The text, at most [`crate::tool::CONTENT_BYTES_MAX`] bytes.
    pub content: String,
    /// Whether the text is HTML or plain.
    pub content_type: ContentType,
}

/// The answer of `read_email`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EmailResult {
    /// The mail's id.
    pub message_id: String,
    /// The mail's subject.
    pub subject: String,
    /// The author.
    pub from: String,
    /// The addresses that the mail went to.
    pub to: String,
    /// The addresses that got a copy.
    pub cc: String,
    /// When the mail was received, RFC 3339.
    pub ts: String,
    /// Names of attached files.
    pub attachments: String,
    /// How the mail is encrypted; absent when it is not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub encrypted: String,
    /// The text, with everything it quotes. `&`, `<` and `>` are written as `&amp;`, `&lt;` and `&gt;`.
    pub content_text_sanitized: String,
    /// Where in the whole text this part begins, in bytes.
    pub part_from: usize,
    /// Absent at the end of the text; otherwise call again with this as `part_from`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest_from: Option<usize>,
}

/// A mail that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentMail {
    /// Graph's id of the mail.
    pub message_id: String,
    /// The addresses.
    pub to: Vec<String>,
    /// The mail's subject.
    pub subject: String,
}

/// Why a mail was not read or sent. The texts never hold a token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MailError {
    /// No such mail has been delivered.
    #[error("no mail with this id has been delivered to you")]
    UnknownMail,
    /// The mailbox does not have the mail any more.
    #[error("the mailbox has this mail no longer")]
    Gone,
    /// The gate does not accept an address.
    #[error("mail to {0} is not allowed")]
    NotAllowed(
        /// The address.
        String,
    ),
    /// The hour's limit for this address is used up.
    #[error("enough mail has been sent there for this hour")]
    TooMany,
    /// The request was not made, because an argument was wrong; nothing was sent. The text names the field
    /// and the fix.
    #[error("{0}")]
    Refused(String),
    /// Microsoft Graph refused, or was not reached.
    #[error("{0}")]
    Graph(String),
    /// The request to send was made and no answer came; it was not repeated.
    #[error("no answer came, it may or may not have left: {0}")]
    UnknownOutcome(String),
}

/// A service that reads and sends mail for the model.
pub trait MailService: Send + Sync {
    /// Reads a delivered mail again, whole: its text from the beginning to the end, every text sanitised. The
    /// future runs beside the connection.
    fn read_email(&self, message_id: String) -> BoxFuture<'static, Result<EmailResult, MailError>>;

    /// Sends one mail. The future runs beside the connection and is dropped when the host disconnects.
    fn send_email(&self, mail: OutgoingMail) -> BoxFuture<'static, Result<SentMail, MailError>>;
}
