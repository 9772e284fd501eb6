//! The output of commands on stdout: text or one JSON document.
//! It must never be used by `serve`, whose stdout belongs to the protocol.

use std::io::Write as _;
use std::process::ExitCode;

use serde::Serialize;

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
