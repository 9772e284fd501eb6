//! Entraclaw: messages from people reach the model of every MCP host, once, in order, clean.
//!
//! This crate is the program: [`command`] is the command line, [`setup`] connects hosts, [`doctor`] looks for what is
//! wrong, [`import`] takes over the home of another server, and [`wake_ups`] uses the hosts' own wake-ups on this machine.

pub mod command;
pub mod doctor;
pub mod import;
pub mod setup;
pub mod wake_ups;
