//! A transparent tap between any host and any server, and its log. It never changes, answers, or delays a
//! byte; only the log knows secrets, and hides them.
//!
//! [`pass`] moves bytes, [`keep`] writes the log, [`mask`] hides secrets in it, [`read`] reads logs.
//! [`replay`] sends the host's side of a log to a live server.

mod create;
mod entry;
pub mod keep;
pub mod mask;
mod mask_json;
pub mod pass;
pub mod read;
pub mod replay;
mod secret;
pub mod shape;

pub use entry::{Dir, End, Entry, Event, Line, Start, What};
