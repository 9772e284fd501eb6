//! An operator's commands at a terminal, as real processes with real files: output and exit codes.

#![expect(clippy::disallowed_methods, reason = "tests make and look at real files")]

mod certificates;
mod consumers;
mod context;
mod health;
mod recall;
mod starting;
mod support;
