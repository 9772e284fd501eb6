//! The judge: what reached the model, when, how often and in what characters. It sees only what a model, a wire
//! and a disk show; it must never ask the server.

mod ledger;
mod sighting;

pub use ledger::{Heard, Ledger, Written};
pub use sighting::{Sighting, look, oddity, quoted, sightings};
