//! The `entraclaw-wait` program: `entraclaw wait` under a name of its own, for hosts that let a program run by its name.
//! It must never learn to do anything else.

use std::process::ExitCode;

fn main() -> ExitCode {
    entraclaw::command::run_wait()
}
