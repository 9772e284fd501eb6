//! The connection of a host over HTTP.
//!
//! rmcp's streamable HTTP server knows the transport: headers, streams of events, sessions of the older protocol, requests
//! that stand alone in the newer one. Behind it each session is a connection like that of a host over stdio: lines through
//! a pipe in memory, which the caller serves. From the ground up: `link` is one such pipe, `bridge` puts the requests of
//! rmcp's server on it, `entry` judges who may come in, `listener` serves sockets.
//!
//! It must never answer a request without the token, listen beyond this machine unless it was told by which names it is
//! called, or know a provider.

mod bridge;
mod entry;
mod link;
mod links;
mod listener;

pub use entry::{Entry, EntryError, TOKEN_CHARS_MIN};
pub use links::Pipe;
pub use listener::{PATH, serve};
