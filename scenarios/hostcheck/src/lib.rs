//! Judges whether an MCP server is fit for real hosts. It works with any server and knows none of its own.
//!
//! [`conformance`] judges a server by the protocol and by the hosts, [`tap`] records what real hosts and
//! servers say, [`probe`] examines real hosts, [`host`] lists the fake ones and [`support`] says which
//! features a server can rely on in them. [`command`] is the command line, which a program above this crate
//! extends. Reports are made elsewhere, from the event stream alone.

pub mod command;
pub mod conformance;
pub mod exit;
pub mod hint;
pub mod host;
pub mod json_in_yaml;
pub mod print;
pub mod probe;
pub mod support;
pub mod tap;
