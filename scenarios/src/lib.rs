//! hostcheck: is an MCP server fit for real hosts, and does every message reach the model?
//!
//! [`scenario`] is what a person writes, [`plan`] which cells follow from it, [`run`] plays one cell, [`oracle`] judges
//! what the model saw, [`command`] is the command line. `sandbox` is where a person plays everybody but the server.
//! [`tap`] stands between real hosts and real servers, [`probe`] examines real hosts, [`conformance`] judges anybody's server. Reports are made
//! elsewhere, from the event stream alone.

pub mod command;
pub mod conformance;
pub mod corpus;
pub mod faults;
pub mod host;
pub mod matching;
pub mod mutants;
mod needs;
pub mod oracle;
pub mod plan;
pub mod probe;
pub mod run;
mod sandbox;
pub mod scenario;
pub mod shrink;
pub mod support;
pub mod tap;
pub mod vectors;
