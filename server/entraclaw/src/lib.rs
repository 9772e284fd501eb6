//! Entraclaw: messages from people reach the model of every MCP host, once, in order, clean.
//!
//! Here the rooms of the other crates are joined: [`config`] is what the user decided, [`app`] is one session,
//! [`command`] the command line, [`setup`] what connects a host, [`status`] and [`doctor`] what state everything is in,
//! and [`wake_ups`] moves the hosts' own wake-ups on this machine.

pub mod app;
pub mod command;
pub mod config;
pub mod doctor;
pub mod import;
pub mod setup;
pub mod status;
pub mod wake_ups;
