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

pub use entraclaw_inbox::{
    carrier, gate, journal, notice, permission, presence, provider, record, rules, tool, upkeep,
};
pub use entraclaw_microsoft::{entra, graph};
pub use entraclaw_sanitize as sanitize;
pub use entraclaw_seams::{clock, processes, random, storage};
pub use entraclaw_work as work;

/// The connection to a host, and what is served over it.
pub mod mcp {
    pub use entraclaw_inbox::presence::*;
    pub use entraclaw_inbox::provider::*;
    pub use entraclaw_mcp::hosts::*;
    pub use entraclaw_mcp::{
        Exit, LEGACY_NEWEST, LEGACY_VERSIONS, LINE_BYTES_MAX, Limits, MODERN_VERSIONS, OUT_BYTES_MAX,
    };
}

/// The hosts' own wake-ups: the rules and the production adapter.
pub mod knock {
    pub use crate::wake_ups::*;
    pub use entraclaw_inbox::knock::*;
}

/// The sources, and what they have in common.
pub mod source {
    pub use entraclaw_inbox::source::*;
    pub use entraclaw_microsoft::{bot, mail, teams};
}
