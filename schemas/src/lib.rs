//! JSON Schemas of the MCP wire and of this project's documents, embedded and compiled on first use, and the
//! rules beside them. It never reads a file, a clock or a socket, and never follows a reference out of its
//! own documents.
//!
//! - [`catalog`]: the definitions of one protocol version, and the definition of each message.
//! - [`WireValidator`]: a whole connection, every line in both directions, with the rules a schema can't express.
//! - [`FileValidator`]: the lines of a file one by one, responses paired with earlier requests.
//! - [`Foreign`]: schemas from a server.
//! - [`rules`]: every hand-written rule with its meaning and its source.
//! - [`own`]: the schemas of this project's documents.

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
mod whole;
mod wire;

pub use catalog::{Asked, Catalog, Definition, Sender, catalog};
pub use file::{FileValidator, LineVerdict, validate_line};
pub use foreign::Foreign;
pub use rules::{Rule, Scope, rules};
pub use verdict::{Verdict, WireError};
pub use version::{Direction, UnknownVersion, Version};
pub use wire::WireValidator;
