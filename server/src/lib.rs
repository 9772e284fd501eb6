//! Entraclaw: messages from people reach the model of every MCP host, once, in order, clean.
//!
//! Rooms, from the ground up: [`clock`], [`random`], [`storage`] and [`knock`] are seams to the outside world;
//! [`record`] is what a message is; [`sanitize`] makes a person's text safe; [`journal`] keeps records and who
//! has seen them; [`gate`] decides who may speak; [`graph`] and [`entra`] talk to Microsoft; [`source`] turns
//! Graph into records; [`permission`] brings a host's requests to the operator and the answers back; [`carrier`] brings records to a host; [`tool`] is what the model can call; [`rules`] is what it is told; [`setup`] is what connects a host; [`mcp`] is the
//! wire; [`command`] is the command line; [`app`] joins them.

pub mod app;
pub mod carrier;
pub mod clock;
pub mod command;
pub mod config;
pub mod doctor;
pub mod entra;
pub mod gate;
pub mod graph;
mod hex;
pub mod import;
pub mod journal;
pub mod knock;
pub mod mcp;
pub mod notice;
pub mod permission;
pub mod random;
pub mod record;
pub mod rules;
pub mod sanitize;
pub mod setup;
pub mod source;
pub mod status;
pub mod storage;
pub mod tool;
pub mod upkeep;
