//! A program of an agent that stands by: it is started before the question, and each question is a session of its own in it.
//!
//! `connection` speaks the Agent Client Protocol, `wish` is what the program asks to be permitted, `turn` reads what comes of one question, `prepared` is the job's own
//! process, and `pool` the server's side, which keeps a bounded number of such processes.
//!
//! It must never ask a question twice, nor permit what a run of its own would not.

mod connection;
mod pool;
mod prepared;
mod turn;
mod wish;

pub(crate) use pool::Pool;
pub(crate) use prepared::WarmAgent;
