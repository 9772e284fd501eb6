//! The tools of this crate over the wire, with a scripted agent.

mod progress;
mod roots;
mod support;
mod tasks;
