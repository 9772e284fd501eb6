//! The mails that the agent sent.

use jiff::Timestamp;
use serde::Serialize;

/// A mail that the agent sent, as it was when it was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SentMail {
    /// The instant at which it was sent.
    pub at: Timestamp,
    /// Its immutable id.
    pub message_id: String,
    /// The addresses in `To`.
    pub to: Vec<String>,
    /// The addresses in `Cc`.
    pub cc: Vec<String>,
    /// Its subject.
    pub subject: String,
    /// The body.
    pub content: String,
    /// `Message-ID` of the mail that it answers.
    pub answers: Option<String>,
    /// Headers that the sender chose.
    pub headers: Vec<(String, String)>,
}
