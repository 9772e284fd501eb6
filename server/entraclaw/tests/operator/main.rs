//! What an operator does at a terminal, as real processes with real files: what is said, and the exit code.

#![expect(clippy::disallowed_methods, reason = "tests make and look at real files")]

mod certificates;
mod consumers;
mod health;
mod starting;
mod support;
