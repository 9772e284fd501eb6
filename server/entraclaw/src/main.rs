//! The `entraclaw` program. Everything is in the library; nothing may be decided here.

use std::process::ExitCode;

fn main() -> ExitCode {
    entraclaw::command::run()
}
