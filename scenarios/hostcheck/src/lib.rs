//! hostcheck: is an MCP server fit for real hosts? It judges anybody's server and knows none of its own.
//!
//! [`conformance`] judges a server by the protocol and by the hosts, [`tap`] stands between real hosts and real servers,
//! [`probe`] examines real hosts, [`host`] lists the fake ones and [`support`] says what a server can count on in them.
//! [`command`] is the command line, which a program above this crate extends. Reports are made elsewhere, from the event
//! stream alone.

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
