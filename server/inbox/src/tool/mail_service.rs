//! The mailbox as the tools see it.
//!
//! Whoever implements it shows only mails that the gate accepted, writes only to allowed addresses, writes the
//! interaction log before it sends, and must never send twice because an answer was lost.

use futures_util::future::BoxFuture;

use super::outbox::ContentType;

/// To whom a mail goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MailTarget {
    /// To whom a delivered mail came from, in its conversation.
    Reply {
        /// The delivered mail, as its record names it.
        message_id: String,
    },
    /// A mail of its own.
    New {
        /// Addresses.
        to: Vec<String>,
        /// Its subject.
        subject: String,
    },
}

/// A mail that the model wants to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutgoingMail {
    /// To whom.
    pub target: MailTarget,
    /// The text, at most [`crate::tool::CONTENT_BYTES_MAX`] bytes.
    pub content: String,
    /// How to read it.
    pub content_type: ContentType,
}

/// A mail that left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentMail {
    /// Graph's id of it.
    pub message_id: String,
    /// The addresses.
    pub to: Vec<String>,
    /// Its subject.
    pub subject: String,
}

/// A whole mail, every text of it sanitised.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MailPage {
    /// Its subject.
    pub subject: String,
    /// Who wrote it.
    pub from: String,
    /// To whom, in one line.
    pub to: String,
    /// Who has a copy, in one line.
    pub cc: String,
    /// When it was received, RFC 3339.
    pub ts: String,
    /// Names of attached files, in one line.
    pub attachments: String,
    /// How it is encrypted; empty when it is not.
    pub encrypted: String,
    /// The text with everything that it repeats.
    pub text: String,
}

/// Why a mail was not read or sent. The texts never hold a token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MailError {
    /// No such mail has been delivered.
    #[error("no mail with this id has been delivered to you")]
    UnknownMail,
    /// The mailbox has it no longer.
    #[error("the mailbox has this mail no longer")]
    Gone,
    /// The gate does not accept an address.
    #[error("mail to {0} is not allowed")]
    NotAllowed(
        /// The address.
        String,
    ),
    /// Enough was written there for an hour.
    #[error("enough mail has been sent there for this hour")]
    TooMany,
    /// It was not even asked for, because it could not be right; nothing was sent. Names the field and the fix.
    #[error("{0}")]
    Refused(String),
    /// Microsoft Graph said no, or was not reached.
    #[error("{0}")]
    Graph(String),
    /// The request to send went out and no answer came; it was not repeated.
    #[error("no answer came, it may or may not have left: {0}")]
    UnknownOutcome(String),
}

/// Reads and sends mail for the model.
pub trait MailService: Send + Sync {
    /// Reads a delivered mail again, whole. The future is driven beside the connection.
    fn read_email(&self, message_id: String) -> BoxFuture<'static, Result<MailPage, MailError>>;

    /// Sends one mail. The future is driven beside the connection and is dropped when the host goes away.
    fn send_email(&self, mail: OutgoingMail) -> BoxFuture<'static, Result<SentMail, MailError>>;
}
