//! The shapes of `status.json` and `sessions/<id>.json`. They may gain members, but must never lose or change
//! one, because programs of other versions read them too.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::journal::JournalLine;
use crate::source::SourceState;
use crate::upkeep::Round;

/// The leader's report: `status.json`. It is written anew when something happens or fails, and for polls that
/// are answered like those before every 30 s.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatusFile {
    /// Version of this shape; 1.
    pub v: u32,
    /// When it was written, RFC 3339, UTC.
    pub written_at: String,
    /// The leader's session id.
    pub session: String,
    /// The process id.
    pub pid: u32,
    /// Since when the session leads, RFC 3339, UTC.
    pub leads_since: String,
    /// One line for each source.
    pub sources: Vec<SourceLine>,
    /// Why the agent's sponsors are not known; absent when they are known or not needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sponsors: Option<SponsorsLine>,
    /// Requests to Graph.
    pub graph: GraphLine,
    /// The last deletion of old files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upkeep: Option<Round>,
}

/// Why the sponsors are not known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SponsorsLine {
    /// The reason, with what helps.
    pub trouble: String,
    /// A person who may be a sponsor has written, and the message waits.
    pub awaited: bool,
}

/// The state of a source.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SourceLine {
    /// The name.
    pub name: String,
    /// Time between two polls, in milliseconds; absent for a source that is pushed to and does not poll.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll_interval_ms: Option<u64>,
    /// The state itself.
    #[serde(flatten)]
    pub state: SourceState,
}

/// The leader's requests to Graph.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GraphLine {
    /// Requests since the leader's start.
    pub requests_total: u64,
    /// Requests that were answered with 429.
    pub throttled_total: u64,
    /// Requests in the last minute.
    pub requests_last_minute: u64,
    /// The most requests that the leader sends in a minute.
    pub budget_per_minute: u64,
}

/// The report of a session: `sessions/<id>.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionFile {
    /// Version of this shape; 1.
    pub v: u32,
    /// The session's id.
    pub id: String,
    /// The process id.
    pub pid: u32,
    /// The program's version.
    pub version: String,
    /// When the session began, RFC 3339, UTC.
    pub started_at: String,
    /// When the host last sent a line; absent before the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_seen_at: Option<String>,
    /// Whether the session polls.
    pub leads: bool,
    /// Whether the session can poll: it is signed in and has a source.
    pub may_lead: bool,
    /// The session follows a leader that shows no sign of progress.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leader_silent: bool,
    /// The problem that stops the session's work, with the fix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// The hosts that are connected to the session.
    pub hosts: Vec<HostLine>,
    /// The consumers that the hosts read as.
    pub consumers: Vec<String>,
    /// How messages reach the hosts: `wait` and `pull` after their first use; `channel`, `resource` and `log
    /// ping` when messages are sent unasked; the host's own wake-up by its name, with a word in brackets
    /// while it waits or fails.
    pub carriers: Vec<String>,
    /// When wake-ups start again, RFC 3339, UTC, if the last hour has used up their number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake_ups_from: Option<String>,
    /// Waiting calls that are open.
    pub waiting_calls: u64,
    /// The session's view of the journal.
    pub journal: JournalLine,
}

/// A host, as it names itself, cleaned.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct HostLine {
    /// The name.
    pub name: String,
    /// Its version; empty when the host gives none.
    pub version: String,
}
