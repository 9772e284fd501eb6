//! What is asked of a job, and what came of it, as they stand in its folder.
//! Nothing here may hold a secret: a request names variables of the environment and never their values.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Bytes of a result's text.
pub(crate) const TEXT_BYTES_MAX: usize = 64 * 1024;
/// Bytes of output that a job may leave in its folder.
const OUTPUT_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// How long a job may take.
const TIME_S: u64 = 3_600;
/// Characters of a title.
pub(crate) const TITLE_CHARS_MAX: usize = 120;

/// What a caller asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// Which kind of work.
    pub kind: String,
    /// What that kind is to do, in its own form.
    pub what: serde_json::Value,
    /// What it is called before people and models.
    pub title: String,
    /// The consumer that gets the result.
    pub consumer: String,
    /// The family of the caller's host, where it is known.
    pub host: Option<String>,
    /// Its bounds.
    pub limits: Limits,
}

/// The bounds of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Seconds until it is ended as failed.
    pub time_s: u64,
    /// Bytes of the result's text; the rest is in a file.
    pub text_bytes: usize,
    /// Bytes of output kept in the file; the rest is counted and dropped.
    pub output_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { time_s: TIME_S, text_bytes: TEXT_BYTES_MAX, output_bytes: OUTPUT_BYTES_MAX }
    }
}

/// `request.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Version of this shape; 1.
    pub v: u32,
    /// The job.
    pub id: String,
    /// Which kind of work.
    pub kind: String,
    /// What that kind is to do.
    pub what: serde_json::Value,
    /// What it is called.
    pub title: String,
    /// The consumer that gets the result.
    pub consumer: String,
    /// The family of the caller's host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The session that asked; it holds a lock of this name while it lives.
    pub session: String,
    /// When, RFC 3339.
    pub asked_at: String,
    /// Its bounds.
    pub limits: Limits,
}

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ended {
    /// It did what was asked.
    Done,
    /// It could not.
    Failed,
    /// It was told to stop.
    Cancelled,
    /// Its process ended without a word.
    Lost,
}

impl Ended {
    /// The word on disk and in a record.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Lost => "lost",
        }
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// `result.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkResult {
    /// Version of this shape; 1.
    pub v: u32,
    /// The job.
    pub id: String,
    /// How it ended.
    pub ended: Ended,
    /// Why, where it is not done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What it said, as it said it: a stranger's text. Its beginning where it is long.
    pub text: String,
    /// Bytes that it said altogether.
    pub total_bytes: u64,
    /// Bytes of that which the file `output` in its folder has.
    pub kept_bytes: u64,
    /// When, RFC 3339.
    pub ended_at: String,
}

impl WorkResult {
    /// Whether `text` is only the beginning.
    pub fn is_cut(&self) -> bool {
        self.total_bytes > self.text.len() as u64
    }
}

/// The process that does the work: `process.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Trace {
    /// Its identity.
    pub(crate) process: Option<String>,
    /// The start of the machine in which it runs.
    pub(crate) boot: Option<String>,
    /// Leaders of the groups that it has started.
    #[serde(default)]
    pub(crate) groups: Vec<String>,
}
