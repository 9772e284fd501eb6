//! What agents on this machine have said and noted, for other agents and for people.
//!
//! From the ground up: `files` is the seam to files that belong to others, `text` makes what leaves the crate safe to
//! show, `context` keeps the notes that agents share in a workspace, `stores` reads the sessions of other
//! programs, `search` finds what was said in them; `resume` says how a session goes on and whether it still runs, `export`
//! shows one to read, `handoff` tells another agent of it; `provider` offers all of it to a host.
//!
//! It must never write into another program's store, nor create any file but the context file in a workspace. What it
//! hands out is data that a person or an agent wrote. It must never hand out a secret that it can recognise.

pub mod context;
pub mod export;
pub mod files;
pub mod handoff;
pub mod meanings;
pub mod provider;
pub mod resume;
pub mod search;
pub mod stores;
pub mod text;
