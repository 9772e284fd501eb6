//! The output of commands on stdout, text or one JSON document, and the end of a command that fails.
//! It must never be used by `serve`, whose stdout belongs to the protocol.

use std::fmt::Display;
use std::io::Write as _;
use std::process::ExitCode;

use serde::Serialize;
use tokio::runtime::{Builder, Runtime};

/// The end of a command: its exit code, or why it failed.
pub(super) type Done = Result<ExitCode, Failure>;

/// Why a command failed, with its exit code.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) code: ExitCode,
    pub(super) problem: String,
}

impl From<String> for Failure {
    fn from(problem: String) -> Self {
        Self { code: ExitCode::FAILURE, problem }
    }
}

impl From<&str> for Failure {
    fn from(problem: &str) -> Self {
        problem.to_owned().into()
    }
}

/// The failure of a wrong command line.
pub(super) fn usage(problem: impl Into<String>) -> Failure {
    Failure { code: ExitCode::from(2), problem: problem.into() }
}

/// Writes the problem of a command that failed to stderr, and gives the exit code.
pub(super) fn end(done: Done) -> ExitCode {
    done.unwrap_or_else(|failure| complain(&failure.problem, failure.code))
}

/// The problem of a journal that can't be read.
pub(super) fn unreadable(error: impl Display) -> String {
    format!("the journal can't be read: {error}; run `entraclaw doctor`")
}

/// Starts the runtime of a command.
pub(super) fn runtime() -> Result<Runtime, String> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| format!("the asynchronous runtime could not be started: {error}"))
}

/// Runs a future to its end, and leaves alone what still runs beside it.
pub(super) fn block_on<T>(future: impl Future<Output = T>) -> Result<T, String> {
    let runtime = runtime()?;
    let done = runtime.block_on(future);
    runtime.shutdown_background();
    Ok(done)
}

/// Writes text, with colours if a terminal shows them. A closed pipe is not an error.
pub(super) fn text(text: &str, code: ExitCode) -> ExitCode {
    let written = anstream::stdout().write_all(text.as_bytes());
    match written {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => ExitCode::FAILURE,
        _ => code,
    }
}

/// Writes one indented JSON document and a newline.
pub(super) fn json(value: &impl Serialize, code: ExitCode) -> ExitCode {
    match serde_json::to_string_pretty(value) {
        Ok(document) => text(&(document + "\n"), code),
        Err(_) => ExitCode::FAILURE,
    }
}

/// Writes text to stderr, unchanged.
pub(super) fn aside(text: &str, code: ExitCode) -> ExitCode {
    match std::io::stderr().write_all(text.as_bytes()) {
        Ok(()) => code,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Writes an error to stderr.
pub(super) fn complain(problem: &str, code: ExitCode) -> ExitCode {
    // Without stderr the error can't be shown.
    let _ = writeln!(anstream::stderr(), "error: {problem}");
    code
}
