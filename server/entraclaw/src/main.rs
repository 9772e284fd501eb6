//! The `entraclaw` program. Everything is in the library; this file must never decide anything.

use std::process::ExitCode;

fn main() -> ExitCode {
    entraclaw::command::run()
}
