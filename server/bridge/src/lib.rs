//! Brings a host to the engine of a project: the socket on which the engine listens, and the relay between it and a host
//! over stdio.
//!
//! From the ground up: `address` says where the socket of a project lies, `listener` opens it for this user alone. `lines`
//! reads lines within a bound, `letter` is what the relay sees of one, `opening` is what begins the host's session, `relay`
//! passes lines on and changes to another engine when one comes or goes.
//!
//! It must never hold back or change a line of a working connection, leave a request without an answer, follow a symlink,
//! replace a file that is no socket of this user, or let another user in.

mod address;
mod letter;
mod lines;
#[cfg(unix)]
mod listener;
mod opening;
mod relay;

pub use address::{Address, AddressError, project_key};
#[cfg(unix)]
pub use listener::{Listener, SocketError, connect};
pub use relay::{End, Engines, relay};
