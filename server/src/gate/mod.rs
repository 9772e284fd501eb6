//! Who may speak to the agent. Everybody who is not on the allowlist is refused, by directory ids, or for mail by address.
//! It must never decide by a display name, and nothing that a model can call may change it.

mod decision;
mod guid;
mod mail;
mod refusals;

pub use decision::{Agent, Gate, Reason, Sender, SenderKind, Verdict};
pub use guid::Guid;
pub use mail::{MailAddress, MailGate};
pub use refusals::{REFUSALS_PER_HOUR_MAX, Refusals};
