//! The inbox: records of messages, the senders who may write, what each consumer has been shown, and every
//! way in which a record reaches a host's model.
//!
//! It must never open a socket, start a process or read a clock: the caller passes in sources, adapters and
//! the connection's two pipes.

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
