//! What can be known of a refused access.
//!
//! The kernel tells of its refusals only in the audit log, which an ordinary user can't read. A refusal is known to the command
//! alone, as an error number; it is seen here only if the command says so. A command that keeps silent, or that lies, leaves no
//! record of what it tried, although it was refused.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::output::Kept;

/// How programs word `EACCES`, `EPERM`, `EROFS`, `EXDEV` and the missing network.
const WORDS: &[&str] = &[
    "permission denied",
    "operation not permitted",
    "read-only file system",
    "eacces",
    "eperm",
    "erofs",
    "permissionerror",
    "access denied",
    "network is unreachable",
    "temporary failure in name resolution",
    "could not resolve host",
    "function not implemented",
    "invalid cross-device link",
    "cannot fork",
    "resource temporarily unavailable",
    "file size limit exceeded",
    "file too large",
    "cannot allocate memory",
    "out of memory",
];

/// The most lines in a record.
const LINES_MAX: usize = 20;

/// A record of refusals that a command told of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// The command.
    pub command: String,
    /// Its exit code.
    pub exit_code: Option<i32>,
    /// The lines of its error output that tell of a refusal, at most twenty.
    pub lines: Vec<String>,
    /// What appeared under a protected name and was taken away.
    pub taken_away: Vec<PathBuf>,
}

impl Refused {
    /// Looks for refusals; none if nothing tells of one.
    pub(crate) fn find(
        command: &str,
        exit_code: Option<i32>,
        stderr: &Kept,
        taken_away: &[PathBuf],
    ) -> Option<Self> {
        let text = stderr.text();
        let tells = |line: &&str| {
            let line = line.to_lowercase();
            WORDS.iter().any(|word| line.contains(word))
        };
        let lines: Vec<String> = text.lines().filter(tells).take(LINES_MAX).map(str::to_owned).collect();
        if lines.is_empty() && taken_away.is_empty() {
            return None;
        }
        let record = Self { command: command.to_owned(), exit_code, lines, taken_away: taken_away.to_vec() };
        tracing::info!(target: "sandbox", command, exit_code, lines = ?record.lines, taken_away = ?taken_away, "refused");
        Some(record)
    }
}
