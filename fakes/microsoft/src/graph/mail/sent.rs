//! What the agent sent by mail.

use jiff::Timestamp;
use serde::Serialize;

/// A mail that the agent sent, as it left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SentMail {
    /// When.
    pub at: Timestamp,
    /// Its immutable id.
    pub message_id: String,
    /// Addresses.
    pub to: Vec<String>,
    /// Addresses with a copy.
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
