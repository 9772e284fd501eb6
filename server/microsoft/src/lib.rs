//! The ways in and out through Microsoft: the HTTP seam, signing in, Graph, and on top of them Teams, mail and the bot.
//!
//! It must never decide who may speak: it asks the gate.

pub mod bot;
pub mod entra;
pub mod graph;
pub mod http;
pub mod mail;
mod outgoing;
pub mod teams;
