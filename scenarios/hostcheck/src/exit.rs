//! The exit codes of commands, for shells and for CI.

/// Everything that was selected passed.
pub const EXIT_PASSED: u8 = 0;
/// Something failed.
pub const EXIT_FAILED: u8 = 1;
/// The command line or a scenario is not valid.
pub const EXIT_USAGE: u8 = 2;
/// A selected check could not run, so the result is incomplete.
pub const EXIT_INCOMPLETE: u8 = 3;

/// The help text of every command that judges.
pub const EXIT_CODES: &str = "exit codes: 0 all passed, 1 a failure, 2 bad usage or a bad scenario, 3 incomplete (something selected could not run)";

/// The exit code of a command, or the error that stopped it.
pub type Outcome = anyhow::Result<u8>;
