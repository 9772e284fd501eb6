//! Who may speak to the agent. Everybody who is not on the allowlist is refused, by directory ids alone.
//! It must never decide by a display name, and nothing that a model can call may change it.

mod decision;
mod guid;
mod refusals;

pub use decision::{Agent, Gate, Reason, Sender, SenderKind, Verdict};
pub use guid::Guid;
pub use refusals::{REFUSALS_PER_HOUR_MAX, Refusals};
