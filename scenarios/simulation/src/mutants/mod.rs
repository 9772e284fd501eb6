//! Servers with one fault each, made from the real one: what proves that the harness would see it.
//! A mutant must never change the harness itself, and must differ from the honest server in its one fault only.

mod agents;
mod delegate;
mod disk;
mod files;
mod graph;
mod mutant;
mod pipe;
mod speech;
mod table;
mod trial;

pub use mutant::Mutant;
pub use table::MUTANTS;
pub use trial::Verdict;
