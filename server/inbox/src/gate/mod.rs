//! Who may speak to the agent. Everybody whom neither configuration nor operator nor sponsorship lets in is refused,
//! by directory ids, or for mail by address. It must never decide by a display name, and nothing that a model can call
//! may change it.
//!
//! From the ground up: `guid` is an id, `address` a mail address, `decision` the words of a verdict, `policy` what the operator said while the
//! server runs and `policy_file` where that is kept, `pairing` how a stranger is let in, `lists` who is in by all of
//! it, `judge` the gate itself, `mail` the gate as mail sees it, `operator` what the terminal can change.

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
