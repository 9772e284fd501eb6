//! The local model of a cell: its engine, its server, its project, and the bridge that the host starts.
//!
//! From the ground up: `model` mounts the fake server, `tools` are those of the project, `book` writes down what the engine
//! tells, `engine` is its process in this thread, `bridge` the way of a host to it, `installed` is both as real processes,
//! `at_hand` finds the one of a cell, `everywhere` disturbs one task at each place, `steps` and `expect` play a scenario,
//! `judge` judges what must always hold.
//!
//! It must never help the engine to keep a promise.

mod at_hand;
mod book;
mod bridge;
mod engine;
mod everywhere;
mod expect;
mod installed;
mod judge;
mod model;
mod steps;
mod tools;

use std::path::Path;

use fake_models::Seen;
use futures_util::future::LocalBoxFuture;
use serde_json::Value;

pub(crate) use bridge::bridge;
pub(crate) use engine::SimDelegation;
pub(crate) use expect::check;
pub(crate) use installed::InstalledDelegation;
pub(crate) use judge::settle;
pub(crate) use steps::{begin, step, task_of};

/// The project's folder, in that of the cell.
const PROJECT: &str = "project";

/// The engine of a cell, its model server and its project.
pub(crate) trait Delegation {
    /// Starts the process of the engine.
    fn start(&self) -> LocalBoxFuture<'_, anyhow::Result<()>>;
    /// Kills it.
    fn kill(&self) -> LocalBoxFuture<'_, ()>;
    /// The questions that the model was asked.
    fn questions(&self) -> Vec<Seen>;
    /// What the program prints of how the models have done.
    fn stats(&self) -> anyhow::Result<Value> {
        anyhow::bail!("this can only be asked of a real process; write `mode: [process]`")
    }
    /// A folder of the cell's own. The engine may write in the project that lies there, and nowhere else.
    fn folder(&self) -> &Path;
    /// The engine itself, where it runs in this thread.
    fn simulated(&self) -> Option<&SimDelegation> {
        None
    }
}
