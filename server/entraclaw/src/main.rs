//! The `entraclaw` program. Everything is in the libraries; this file must never decide anything.

use std::process::ExitCode;

fn main() -> ExitCode {
    // A stage of the sandbox enters namespaces, which a process with threads can't.
    let stage = entraclaw_sandbox::become_command(std::env::args_os().skip(1));
    stage.unwrap_or_else(entraclaw::command::run)
}
