//! Scenarios of fake hosts and a fake Microsoft against the server `entraclaw`: does every message reach the model?
//! The only crate that knows both the server and the fakes.
//!
//! The crate [`scenario`] reads what a person writes. [`plan`] says which cells follow from it, [`run`] plays one cell, and
//! [`oracle`] judges what the model saw. [`command`] is the command line, which has all of [`hostcheck`]'s commands.
//! `sandbox` is where a person plays every part but the server's. Reports are made elsewhere, from the event stream alone.

mod accept;
pub mod command;
pub mod corpus;
pub mod matching;
pub mod mutants;
mod needs;
pub mod oracle;
pub mod plan;
pub mod recorded;
pub mod run;
mod sandbox;
pub mod shrink;
mod token;
pub mod vectors;
