//! One session of the server: the user's decisions, all rooms joined for one host, and the state that it leaves for others.
//!
//! [`config`] is the configuration, [`app`] the session as one future, [`status`] the state of everything. It must never
//! read a command line, nor reach the machine but through the seams that it is given.

pub mod app;
pub mod config;
pub mod status;
