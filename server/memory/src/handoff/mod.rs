//! A brief of a session for another agent.
//!
//! From the ground up: `open` finds what is left to do, `brief` writes it. It must never be taken for instructions: it
//! says at its head that it is data, and everything that was said stands in quotes.

mod brief;
mod open;

pub use brief::{BRIEF_BYTES, Brief, Source, handoff};
