//! Processes that stand by: a kind of work gets ready before a job is asked, so that the job begins sooner.
//!
//! Such a process is started for one session and one plan, is handed one job after another, and ends when it has waited or
//! lived long enough, or the session has ended. A job is handed over by the rename of one file, so that two sides never
//! both have it: `place` has the files, `keep` is the process.
//!
//! It must never hold a job up: a job that the process does not take soon is taken back and begins as any other.

mod keep;
mod place;
#[cfg(test)]
mod tests;

pub use keep::{StandbyError, stand_by};
pub(crate) use place::Plan;
pub use place::Standing;
