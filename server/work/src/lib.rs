//! Work that outlives the call that began it.
//!
//! A job is a process of its own and a folder `work/<id>/` in the home folder. A caller waits for it as long as its host
//! waits. A result that comes in time goes to the caller. A later one goes to the inbox: the job's process puts its id
//! into `work/spool/`, and the session that leads reads the spool as a source, so the result comes by every carrier.
//!
//! From the ground up: `request` is what is asked and what came of it, `claim` says who gets the result, `folder` is a
//! job's files, `works` is the caller's side, `run` is the job's own process with its kinds (`program` is one), `collect`
//! finds what has ended and no caller waits for, `source` brings that to the journal, `survey` counts for people.
//!
//! Nothing here may begin work by itself, and a result must never go both ways or neither.

mod claim;
mod collect;
mod folder;
mod program;
mod request;
mod run;
mod source;
mod survey;
mod works;

pub use claim::{Claim, Move};
pub use collect::{Collector, JOBS_MAX, Ready};
pub use folder::{SPOOL, WORK};
pub use program::{Program, ProgramSpec};
pub use request::{Ask, Ended, Limits, Request, WorkResult};
pub use run::{Kind, Kinds, Outcome, RunError, RunParts, Running, Stop, run};
pub use source::{CONSUMER_KEY, WorkSource};
pub use survey::{Survey, survey};
pub use works::{BeginError, Claimed, Job, Reply, Ticket, Works, WorksParts};
