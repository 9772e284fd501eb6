//! Decides which senders may speak to the agent: it refuses a sender whom neither configuration nor operator
//! nor sponsorship lets in, by directory ids, or for mail by address. It must never decide by a display name,
//! and no tool of a model may change it.
//!
//! From the ground up: `guid` is an id, `address` a mail address, `decision` the types of a verdict, `policy`
//! what the operator decided while the server runs, `policy_file` the file that keeps it, `pairing` the way
//! to let a stranger in, `lists` the allowed and denied people, `judge` the gate itself, `mail` the gate for
//! mail, and `operator` the changes that the terminal can make.

mod address;
mod decision;
mod guid;
mod judge;
mod lists;
mod mail;
pub mod operator;
pub mod pairing;
mod policy;
pub mod policy_file;
mod refusals;

pub use address::MailAddress;
pub use decision::{Agent, Reason, Sender, SenderKind, Verdict};
pub use guid::Guid;
pub use judge::{Gate, PairingReply, PolicyNews};
pub use mail::MailGate;
pub use pairing::Stranger;
pub use policy::WILDCARDS;
pub use policy::{ChatRule, POLICY_PEOPLE_MAX, POLICY_VERSION, Pending, Person, Policy};
pub use refusals::{REFUSALS_PER_HOUR_MAX, Refusal, Refusals};
