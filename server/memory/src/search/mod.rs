//! One search over what every agent on this machine has said.
//!
//! From the ground up: `schema` says what is indexed, `catalog` which file was read how far, `query` what is asked,
//! `fresh` holds what is newer than the index, `snippet` shows words around a hit, `memory` joins them.
//!
//! The index holds words and places and no text: a hit is read again from the agent's own file, so that nothing is kept
//! twice and what is gone there is gone here. It must never answer from a file that has changed since.

mod catalog;
mod fresh;
mod memory;
mod query;
mod schema;
mod snippet;

pub use memory::{IndexPlace, Memory, MemoryError, MemoryParts, Refreshed};
pub use query::{Answer, Filter, Hit, SessionHit, Snippet};
