//! The inbox: records of what people wrote, who may write, who has seen what, and every way in which a record reaches
//! the model of a host.
//!
//! It must never open a socket, start a process or read a clock: sources, adapters and the connection's two pipes are
//! given.

pub mod carrier;
pub mod gate;
pub mod journal;
pub mod notice;
pub mod permission;
pub mod presence;
pub mod provider;
pub mod record;
pub mod rules;
pub mod sessions;
pub mod source;
pub mod tool;
pub mod upkeep;
pub mod wake_up;
pub mod watched;
