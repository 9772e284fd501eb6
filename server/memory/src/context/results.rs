//! What the operations return, member by member as in the design document.
//!
//! It must never gain a member that the document lacks: what else is known stands in the text of the file.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

/// What `read_context` returns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadContext {
    /// The text of the context file, or the part that was asked for.
    pub content: String,
    /// What is known of the file.
    pub metadata: ReadMetadata,
}

/// What is known of a context file that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadMetadata {
    /// The path of the file.
    pub path: String,
    /// Its bytes.
    pub size: u64,
    /// When it was last written, as RFC 3339.
    pub last_modified: String,
    /// The sessions in it.
    pub session_count: usize,
}

/// What `append_context` returns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Appended {
    /// Always true: a failure is an error.
    pub success: bool,
    /// The time that the section bears.
    pub timestamp: String,
    /// The path of the file.
    pub path: String,
}

/// What `init_context` returns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Initialized {
    /// Always true: a failure is an error.
    pub success: bool,
    /// The path of the file.
    pub path: String,
    /// The name of the template.
    pub template: String,
}

/// What `get_context_summary` returns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextSummary {
    /// The path of the file.
    pub path: String,
    /// Always true: a missing file is an error.
    pub exists: bool,
    /// What is counted in it.
    pub stats: Stats,
    /// When it was last written, as RFC 3339.
    pub last_modified: String,
    /// The last sessions, newest first.
    pub recent_sessions: Vec<RecentSession>,
}

/// Counts of a context file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// Its bytes.
    pub size: u64,
    /// Its lines.
    pub lines: usize,
    /// Its words.
    pub words: usize,
    /// Its sessions.
    pub sessions: usize,
}

/// A session of a context file in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecentSession {
    /// When it was written; its title where no time is known.
    pub timestamp: String,
    /// The first hundred characters.
    pub preview: String,
}

/// A workspace with a context file that was written by this program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KnownWorkspace {
    /// The path of the context file.
    pub path: String,
    /// Whether it is there now.
    pub exists: bool,
}

/// A moment to the second, as RFC 3339.
pub(super) fn rfc3339(at: Timestamp) -> String {
    Timestamp::from_second(at.as_second()).unwrap_or(at).to_string()
}
