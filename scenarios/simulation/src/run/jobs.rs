//! The work that outlives its call on a cell's machine, and the other agents that do it, as the oracle looks at them.
//! It must never decide who gets a result.

use std::io;

use tokio::time::Instant;

/// A job that was begun.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    /// Its label in the scenario. That of a question to another agent is its prompt.
    pub(crate) label: String,
    /// Its id.
    pub(crate) id: String,
    /// The consumer that asked.
    pub(crate) consumer: String,
    /// Its duration, in milliseconds.
    pub(crate) takes_ms: u64,
    /// When it began.
    pub(crate) began: Instant,
}

impl Job {
    /// The label of a question with this title.
    pub(crate) fn label_of(title: &str) -> String {
        title.split_once(": ").map_or(title, |(_, prompt)| prompt).to_owned()
    }
}

/// The jobs and the other agents of a machine.
pub(crate) trait Jobs {
    /// Every job that was begun, in order.
    fn all(&self) -> Vec<Job>;
    /// Tells a job to stop, as a tool of a provider tells it. Whether there was one to tell.
    fn cancel(&self, id: &str) -> io::Result<bool>;
    /// Kills a job's process. Whether there was one.
    fn kill(&self, id: &str) -> io::Result<bool>;
    /// How many processes of agents run, with those that they started.
    fn running(&self) -> usize;
    /// How many agents were started.
    fn started(&self) -> u64;
}
