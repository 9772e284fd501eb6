//! JSON Schemas of the MCP wire and of our own documents, embedded, compiled on first use, and the rules beside them.
//! It never reads a file, a clock or a socket, and never follows a reference out of its own documents.
//!
//! - [`catalog`]: one protocol version's definitions; which one belongs to a message.
//! - [`WireValidator`]: a whole connection, every line in both directions, with the rules a schema can't express.
//! - [`FileValidator`]: the lines of a file, each for itself, responses paired with requests seen before.
//! - [`Foreign`]: schemas that a server brought along.
//! - [`rules`]: every hand-written rule with its meaning and its source.
//! - [`own`]: the schemas of our own documents.

mod catalog;
mod down;
mod explain;
mod file;
mod foreign;
mod message;
pub mod own;
mod rules;
mod verdict;
mod version;
mod wire;

pub use catalog::{Asked, Catalog, Definition, Sender, catalog};
pub use file::{FileValidator, LineVerdict, validate_line};
pub use foreign::Foreign;
pub use rules::{Rule, Scope, rules};
pub use verdict::{Verdict, WireError};
pub use version::{Direction, UnknownVersion, Version};
pub use wire::WireValidator;
