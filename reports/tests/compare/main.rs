//! Runs compared with others: their own shards, a baseline, earlier releases, other runs.

mod baseline;
#[path = "../fixture/mod.rs"]
mod fixture;
mod merge;
mod outputs;
