//! Work that outlives the call that began it.
//!
//! A job has a process of its own and a folder `work/<id>/` in the home folder. A caller waits for it as long as its host
//! waits. A result that comes in time goes to the caller. A later one goes to the inbox: the job's process puts its id
//! into `work/spool/`. The session that leads reads the spool as a source, so every carrier can bring the result.
//!
//! From the ground up: `request` has the documents of a job, `claim` decides who gets the result, `folder` has a job's
//! files, `works` is the caller's side, `run` is the job's own process with its kinds (`program` is one), `collect`
//! finds results without a waiting caller, `source` appends them to the journal, `look` shows a job to the holder of its
//! ticket, `survey` counts jobs for people. `attend` looks after a program that a kind starts, and `standby` has processes that are
//! ready for a job before it is asked. `asks` is a job's question to its caller. `deliver` brings results of work that another
//! part of the program has done.
//!
//! It must never begin work by itself, and a result must never go both ways or neither.

mod asks;
mod attend;
mod claim;
mod collect;
mod deliver;
mod folder;
mod look;
mod program;
mod request;
mod run;
mod source;
mod standby;
mod survey;
mod works;

pub use asks::Asks;
pub use attend::{Attended, attend, keep_tail};
pub use claim::{Claim, Move};
pub use collect::{Collector, JOBS_MAX, Ready};
pub use deliver::{Delivery, deliver};
pub use folder::{SPOOL, WORK};
pub use look::{Events, Look, kept_output, look, looks};
pub use program::{Program, ProgramSpec};
pub use request::{Ask, Ended, Limits, Request, WorkResult};
pub use run::{Kind, Kinds, Outcome, Prepared, RunError, RunParts, Running, Stop, run};
pub use source::{CONSUMER_KEY, WorkSource};
pub use standby::{StandbyError, Standing, stand_by};
pub use survey::{WorkSummary, survey};
pub use works::{BeginError, Claimed, Job, Reply, Ticket, Works, WorksParts};
