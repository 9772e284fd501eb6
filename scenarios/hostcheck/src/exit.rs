//! What a command ends with, for shells and for CI.

/// Everything that was selected passed.
pub const EXIT_PASSED: u8 = 0;
/// Something failed.
pub const EXIT_FAILED: u8 = 1;
/// The command line or a scenario makes no sense.
pub const EXIT_USAGE: u8 = 2;
/// Something that was selected could not run, so nothing can be promised.
pub const EXIT_INCOMPLETE: u8 = 3;

/// For the help of every command that judges.
pub const EXIT_CODES: &str = "exit codes: 0 all passed, 1 a failure, 2 bad usage or a bad scenario, 3 incomplete (something selected could not run)";

/// The exit code of a command, or why it could not do its work.
pub type Outcome = anyhow::Result<u8>;
