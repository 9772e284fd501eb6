//! A transparent tap between any host and any server, and the log that it keeps.
//! It never changes, delays for the log's sake, or answers a byte; only the log knows of secrets, and hides them.
//!
//! [`pass`] moves bytes, [`keep`] writes the log beside it, [`mask`] hides secrets there, [`read`] reads logs back.
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
mod split;

pub use entry::{Dir, End, Entry, Event, Line, Start, What};
