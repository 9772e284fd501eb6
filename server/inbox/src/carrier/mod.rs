//! How a record reaches a host: each carrier turns what the journal has into one kind of message, and no more.
//!
//! A carrier never owns a message and never changes its text; losing what a carrier sent loses nothing. They are
//! pure: the provider in [`crate::provider`] decides when each is used and in which order.

pub mod channel;
pub mod events;
pub mod log_ping;
pub mod pull;
pub mod resource;
pub mod wait;
