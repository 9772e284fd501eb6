//! How a session goes on: the command line for each agent, and whether it still runs.
//!
//! From the ground up: `rows` are the facts of each agent, `shell` writes a command line, `running` tells whether a
//! session runs, `command` joins them. It must never guess: what nothing shows is unknown.

mod command;
mod rows;
mod running;
mod shell;

pub use command::{Resume, resume};
pub use running::{Running, running};
pub use shell::quoted;
