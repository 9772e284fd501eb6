//! A tracer server that examines a real host, and the facts that its log shows. It never claims a fact that
//! the log does not show; an unobserved fact is named as unknown, with the reason.
//!
//! [`tracer`] is the server, [`tools`] lists its tools, [`drive`] runs it over pipes, [`session`] reads its
//! log, [`claim`] draws facts from it, [`draft`] writes them as a profile, [`questions`] answers the open
//! questions.

#[cfg(test)]
mod against_fakes;
mod answers;
pub mod claim;
mod claims;
mod claims_calls;
mod claims_opening;
mod claims_wire;
pub mod draft;
pub mod drive;
mod fires;
pub mod opening;
pub mod questions;
pub mod runbook;
pub mod session;
pub mod tools;
pub mod tracer;
