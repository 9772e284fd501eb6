//! One search over what every agent on this machine has said.
//!
//! From the ground up: `schema` says what is indexed, `page` puts messages together, `catalog` says which file was read
//! how far, `forgotten` what must not be found, `fresh` holds what is newer than the index, `groups` which files are one
//! session, `folder` where the index is. `query` and `ask` are what is asked, `grammar` the words of it that tell little,
//! `weights` what counts how much, `reach` how far a query looks. `memory` joins them: it is opened and committed there,
//! reads in `refresh`, at a `pace`, the files that have `changed`, ranks sessions in `rank` by the pages that are
//! `passing`, reads the best again through a `window` in which a `scout` looks for phrases, judges them in `judge`, where
//! words are unsure by what is `meant`, and answers in `answer`, with a `snippet` and what `superseded` it; `forget` takes
//! things out.
//!
//! The index holds words and places. A hit is read again from the agent's own file wherever it can be read at a place, so
//! that nothing is kept twice and what is gone there is gone here. It must never answer from a file that has changed since.

mod answer;
mod ask;
mod catalog;
mod changed;
mod folder;
mod forget;
mod forgotten;
mod fresh;
mod grammar;
mod groups;
mod hint;
mod judge;
mod kin;
#[cfg(test)]
mod machine;
mod meant;
mod memory;
mod pace;
mod page;
mod parts;
mod passing;
mod query;
mod rank;
mod reach;
mod refresh;
mod schema;
mod scout;
mod snippet;
mod superseded;
mod weights;
mod window;

pub use forget::Forgotten;
pub use forgotten::Forget;
pub use memory::Memory;
pub use parts::{IndexPlace, MemoryError, MemoryParts};
pub use query::{Answer, Filter, Later, SessionHit, Snippet};
pub use refresh::{Progress, Refreshed};
