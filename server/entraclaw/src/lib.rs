//! Entraclaw: messages from people reach the model of every MCP host, once, in order, clean.
//!
//! This crate joins the others: [`config`] is the user's configuration, [`app`] one session, [`command`] the command
//! line, [`setup`] connects hosts, [`status`] and [`doctor`] report the state of everything, and [`wake_ups`] uses the
//! hosts' own wake-ups on this machine.

pub mod app;
pub mod command;
pub mod config;
pub mod doctor;
pub mod import;
pub mod setup;
pub mod status;
pub mod wake_ups;
