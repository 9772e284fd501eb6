//! The `entraclaw` program. Everything is in the libraries; this file must never decide anything.

use std::process::ExitCode;

fn main() -> ExitCode {
    // A stage of the sandbox enters namespaces, which a process with threads can't.
    let arguments = || std::env::args_os().skip(1);
    let stage = entraclaw_sandbox::become_command(arguments());
    let stage = stage.or_else(|| entraclaw::command::become_bridge(arguments()));
    stage.unwrap_or_else(entraclaw::command::run)
}
