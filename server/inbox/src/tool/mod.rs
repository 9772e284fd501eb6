//! What the model can call: the inbox tools, their texts, arguments and results, and the doors to what acts elsewhere.
//!
//! Nothing here may change who can speak or what is watched, and no tool may take a switch that turns a safety off.

pub(crate) mod answer;
pub(crate) mod arguments;
pub mod catalog;
mod door;
pub(crate) mod mail;
mod mail_desk;
pub mod nearest;
mod outbox;
mod results;
pub mod send;
mod texts;

pub use answer::Answer;
pub use arguments::{Arguments, Refusal};
pub use catalog::{INBOUND_QUEUE_STATS, INBOX_PULL, SEND_TEAMS_MESSAGE, WAIT_FOR_INBOUND_MESSAGE};
pub(crate) use door::SendDoor;
pub use door::{Door, Offer, Started, ToolSet};
pub use mail::{EmailResult, MailDoor, SendEmailResult};
pub use mail_desk::{MailDesk, MailError, MailPage, MailTarget, OutgoingMail, SentMail};
pub use outbox::{ContentType, Outbox, OutgoingTeams, SendError, Sent};
pub use results::{InboxResource, MessageView, PullResult, SendResult, StatsResult, WaitResult};
pub use send::CONTENT_BYTES_MAX;
