//! The provider `context`: the notes of a workspace and the search over all sessions, as tools, resources and prompts.
//!
//! From the ground up: `beside` is where files are touched, `failure` names what went wrong, `scope` says which workspace
//! a call means and which it may name, `fit` cuts long texts, `shared` is what all calls share, `results` the search's
//! answer in the document's form, `resources`, `prompts` and `tools` what is offered, `calls` the tools at work, `sight` how
//! a resource looks from outside, `watch` which of them have changed, `server` joins them.
//!
//! It must never keep the connection waiting for a disk, nor reach a workspace that no person has opened.

mod beside;
mod calls;
mod failure;
mod fit;
#[cfg(test)]
mod machine;
mod prompts;
mod resources;
mod results;
mod scope;
mod server;
mod shared;
mod sight;
mod tools;
mod watch;

pub use beside::Beside;
pub use scope::Scope;
pub use server::ContextProvider;
pub use shared::{ContextParts, INDEX};
pub use tools::{SET, tool_names};
