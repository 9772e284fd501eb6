//! One search over what every agent on this machine has said.
//!
//! From the ground up: `schema` says what is indexed, `catalog` which file was read how far, `query` what is asked,
//! `fresh` holds what is newer than the index, `snippet` shows words around a hit. `memory` joins them: it is opened and
//! committed there, reads files in `refresh`, ranks messages in `rank` and makes an answer of them in `answer`.
//!
//! The index holds words and places and no text: a hit is read again from the agent's own file, so that nothing is kept
//! twice and what is gone there is gone here. It must never answer from a file that has changed since.

mod answer;
mod catalog;
mod fresh;
mod memory;
mod parts;
mod query;
mod rank;
mod refresh;
mod schema;
mod snippet;

pub use memory::Memory;
pub use parts::{IndexPlace, MemoryError, MemoryParts};
pub use query::{Answer, Filter, Hit, SessionHit, Snippet};
pub use refresh::Refreshed;
