//! The connection to Microsoft: HTTP, signing in, Graph, and on top of them Teams, mail and the bot.
//!
//! It must never decide which sender may speak: it asks the gate.

pub mod bot;
pub mod entra;
pub mod graph;
pub mod http;
mod incoming;
pub mod mail;
mod outgoing;
pub mod teams;

// The tests' support can then name this crate in the same way as the tests of the crate above do.
#[cfg(test)]
extern crate self as entraclaw_microsoft;

#[cfg(test)]
#[path = "../tests/support/mod.rs"]
mod support;

#[cfg(test)]
#[path = "../tests/support/warnings.rs"]
mod warnings;
