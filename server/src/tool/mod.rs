//! What the model can call: the tools, their texts, arguments and results, and the doors to Teams and to the mailbox.
//!
//! Nothing here may change who can speak or what is watched, and no tool may take a switch that turns a safety off.

pub(crate) mod answer;
pub(crate) mod arguments;
pub(crate) mod catalog;
pub(crate) mod mail;
mod mail_desk;
pub(crate) mod nearest;
mod outbox;
mod results;
pub(crate) mod send;
mod texts;

pub use catalog::{
    INBOUND_QUEUE_STATS, INBOX_PULL, MAIL_TOOL_NAMES, READ_EMAIL, SEND_EMAIL, SEND_TEAMS_MESSAGE, TOOL_NAMES,
    WAIT_FOR_INBOUND_MESSAGE,
};
pub use mail::{EmailResult, SendEmailResult};
pub use mail_desk::{MailDesk, MailError, MailPage, MailTarget, OutgoingMail, SentMail};
pub use outbox::{ContentType, Outbox, OutgoingTeams, SendError, Sent};
pub use results::{InboxResource, MessageView, PullResult, SendResult, StatsResult, WaitResult};
pub use send::CONTENT_BYTES_MAX;
pub use texts::INSTRUCTIONS;
