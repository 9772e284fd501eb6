//! How a command ended.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::output::Kept;
use crate::refused::Refused;

/// Why a command is at its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// It ended by itself.
    Exited,
    /// The program could not be started; why.
    NotStarted(String),
    /// It took too long.
    TimeLimit,
    /// It was stopped by the caller.
    Stopped,
    /// Its processes used too much memory.
    MemoryLimit,
    /// It had too many processes.
    ProcessLimit,
    /// The disk lost too much space while it ran.
    DiskLimit,
    /// It said too much.
    OutputLimit,
    /// It killed the process that watches it, from inside or with the system's help.
    Lost,
}

/// What a stage tells of the end.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Told {
    pub(crate) cause: Option<Cause>,
    pub(crate) exit_code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) unenforced: Option<String>,
    pub(crate) left_behind: u32,
}

impl Told {
    pub(crate) fn nothing() -> Self {
        Self { cause: None, exit_code: None, signal: None, unenforced: None, left_behind: 0 }
    }
}

/// The end of a command.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// Why it is at its end.
    pub cause: Cause,
    /// Its exit code, if it ended by itself.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// What it said.
    pub stdout: Kept,
    /// What it said of errors.
    pub stderr: Kept,
    /// How many processes it left running; they were killed.
    pub left_behind: u32,
    /// What appeared under a protected name, relative to its writable folder; it was taken away.
    pub taken_away: Vec<PathBuf>,
    /// What it was refused, as far as that can be known.
    pub refused: Option<Refused>,
    /// How long it ran, in milliseconds.
    pub elapsed_ms: u64,
}
