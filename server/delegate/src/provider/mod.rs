//! The provider `delegate`: a host hands tasks to the local model, by the seven tools of the design document, and is told
//! how they go.
//!
//! From the ground up: `failure` names what went wrong, `tools` is what is offered, `shapes` the document's answers, `fit`
//! keeps them within what a host shows, `handed` knows whether a result has left, `wait` waits for one task, `tasks` are those of the protocol, `calls` are the tools at work, `notices` what is told
//! unasked, `server` joins them. `far` is the same provider in a session whose engine is another process.
//!
//! It must never keep a call beyond what its host waits, let a host touch a task of the person, nor tell a client of a task
//! that it did not hand over or ask for.

mod calls;
mod failure;
mod far;
mod fit;
mod handed;
mod notices;
mod server;
mod shapes;
mod stand_in;
mod tasks;
mod tools;
mod wait;

pub use far::{Connects, FarProvider};
pub use server::DelegateProvider;
pub use stand_in::StandIn;
pub use tools::{SET, tool_names};
