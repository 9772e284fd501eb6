//! The documents of a job: its request and its result, as they are in its folder.
//! They must never hold a secret: a request names variables of the environment and never their values.

use std::fmt;

use entraclaw_sanitize::clean_line;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Most bytes of a result's text.
pub(crate) const TEXT_BYTES_MAX: usize = 64 * 1024;
/// Most bytes of output that a job may leave in its folder.
const OUTPUT_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// How long a job may take, in seconds.
const TIME_S: u64 = 3_600;
/// Most characters of one fact in a line.
const FACT_CHARS_MAX: usize = 200;
/// Most characters of a title.
pub(crate) const TITLE_CHARS_MAX: usize = 120;

/// The work that a caller asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// The kind of work.
    pub kind: String,
    /// The task, in the kind's own form.
    pub what: Value,
    /// The title that people and models see.
    pub title: String,
    /// The consumer that gets the result.
    pub consumer: String,
    /// The family of the caller's host, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The bounds of the job.
    pub limits: Limits,
}

/// The bounds of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Seconds until it is ended and counts as failed.
    pub time_s: u64,
    /// Most bytes of the result's text; the rest is in a file.
    pub text_bytes: usize,
    /// Most bytes of output kept in the file; the rest is counted and dropped.
    pub output_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { time_s: TIME_S, text_bytes: TEXT_BYTES_MAX, output_bytes: OUTPUT_BYTES_MAX }
    }
}

/// The request of a job: the file `request.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The version of this format: 1.
    pub v: u32,
    /// The id of the job.
    pub id: String,
    /// The work.
    #[serde(flatten)]
    pub ask: Ask,
    /// The session that asked; it holds a lock of this name while it runs.
    pub session: String,
    /// When it was asked, RFC 3339.
    pub asked_at: String,
}

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ended {
    /// It did what was asked.
    Done,
    /// It could not do it.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// Its process ended without a result.
    Lost,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// The result of a job: the file `result.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkResult {
    /// The version of this format: 1.
    pub v: u32,
    /// The id of the job.
    pub id: String,
    /// How the job ended.
    pub ended: Ended,
    /// Why, if it is not done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The beginning of its output, unchanged: a stranger's text.
    pub text: String,
    /// Bytes of its whole output.
    pub total_bytes: u64,
    /// Bytes of it that are in the file `output` in the job's folder.
    pub kept_bytes: u64,
    /// What the kind states about the work beside its output, such as the session of an agent; plain values of ours, or
    /// texts of a stranger.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub facts: Map<String, Value>,
    /// When it ended, RFC 3339.
    pub ended_at: String,
}

impl WorkResult {
    /// The facts as one line for a reader, or nothing if there is none.
    pub fn facts_line(&self) -> Option<String> {
        let facts = self.facts.iter().filter_map(|(name, value)| {
            let value = match value {
                Value::String(text) => clean_line(text),
                other => other.to_string(),
            };
            let value: String = value.chars().take(FACT_CHARS_MAX).collect();
            (!value.is_empty()).then(|| format!("{name}: {value}"))
        });
        let line = facts.collect::<Vec<_>>().join(", ");
        (!line.is_empty()).then(|| format!("({line})"))
    }

    /// Whether `text` is only the beginning.
    pub fn is_cut(&self) -> bool {
        self.total_bytes > self.text.len() as u64
    }
}

/// The process that does the work: the file `process.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Trace {
    /// The identity of the process.
    pub(crate) process: Option<String>,
    /// The start of the machine since which it runs.
    pub(crate) boot: Option<String>,
    /// The leaders of the process groups that it has started.
    #[serde(default)]
    pub(crate) groups: Vec<String>,
}
