//! The ways in which a record reaches a host: each carrier turns the journal's records into one kind of
//! message.
//!
//! A carrier must never own a message or change its text, so nothing is lost when a carrier's message is
//! lost. Carriers are pure: the provider in [`crate::provider`] decides when each is used and in which order.

pub mod channel;
pub mod events;
pub mod log_ping;
pub mod pull;
pub mod resource;
pub mod wait;
