//! The agent's mailbox in the fake Graph: arrival, delta, reading, drafts, sending.
//! It must use the requests, faults, limits and rules of the chats; only the mailbox is its own.

mod delta;
mod list;
mod mailbox;
mod script;
mod sent;
mod show;
mod spec;
mod write;

pub(super) use mailbox::Mailbox;
pub use sent::SentMail;
pub use spec::{DeltaLoss, MailAuth, MailEncryption, MailHistorySpec, MailSpec, MailboxSpec};
