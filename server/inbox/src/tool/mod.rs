//! The tools that the model can call: their texts, arguments and results, and the traits of the services
//! behind them.
//!
//! A tool must never change who can speak or what is watched, nor take an argument that turns a safety off.

pub(crate) mod answer;
pub mod catalog;
pub(crate) mod mail;
mod mail_service;
mod outbox;
mod results;
pub mod send;
mod set;
mod texts;

pub use catalog::{INBOUND_QUEUE_STATS, INBOX_PULL, WAIT_FOR_INBOUND_MESSAGE};
pub use mail::{MailProvider, SendEmailResult};
pub use mail_service::{EmailResult, MailError, MailService, MailTarget, OutgoingMail, SentMail};
pub use outbox::{ContentType, Outbox, OutgoingTeams, SendError, Sent};
pub use results::{InboxResource, MessageView, PullResult, SendResult, StatsResult, WaitResult};
pub use send::{CONTENT_BYTES_MAX, SEND_TEAMS_MESSAGE, SendProvider};
pub use set::ToolSet;
