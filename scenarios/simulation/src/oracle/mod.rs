//! The judge: what reached the model, when, how often and in what characters, and what became of what it answered. It
//! sees only what a model, a wire, a disk and the other side show; it must never ask the server.

mod answers;
mod ledger;
mod sighting;

pub use answers::{Answers, Posted, judge as judge_answers};
pub use ledger::{Heard, Ledger, Written};
pub use sighting::{Part, Sighting, look, oddity, quoted, sightings, unescaped_output};
