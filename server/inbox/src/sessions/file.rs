//! The shapes of `status.json` and `sessions/<id>.json`.
//! They may gain members, never lose or change one: another version's files are read too.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::journal::JournalStats;
use crate::upkeep::Round;

/// What the leader tells: `status.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatusFile {
    /// Version of this shape; 1.
    pub v: u32,
    /// When it was written, RFC 3339, UTC.
    pub written_at: String,
    /// The leader's session id.
    pub session: String,
    /// Its process id.
    pub pid: u32,
    /// Since when it leads, RFC 3339, UTC.
    pub leads_since: String,
    /// One line a source.
    pub sources: Vec<SourceLine>,
    /// Why it is not known who the sponsors of the agent are; absent while it is, or nobody wants to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sponsors: Option<SponsorsLine>,
    /// What was asked of Graph.
    pub graph: GraphLine,
    /// The last time that old files were deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upkeep: Option<Round>,
}

/// Sponsors whom nobody knows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SponsorsLine {
    /// Why, with what helps.
    pub trouble: String,
    /// Somebody who may be one has written, and waits.
    pub awaited: bool,
}

/// How a source is doing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SourceLine {
    /// Its name.
    pub name: String,
    /// Time between two polls, in milliseconds; absent for a source that is written to and asks nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll_interval_ms: Option<u64>,
    /// When it last asked, RFC 3339, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_at: Option<String>,
    /// When it was last told everything that it asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_at: Option<String>,
    /// What went wrong since then, with what helps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Failures in a row.
    pub failures: u32,
    /// From when on the error is more than a hiccup, RFC 3339, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serious_from: Option<String>,
    /// What this machine's disk does not keep for it, with why and what helps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsaved: Option<String>,
    /// Conversations that it knows of.
    pub conversations: u64,
    /// Conversations with something new that was not read yet.
    pub behind: u64,
}

/// What was asked of Graph by the leader.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GraphLine {
    /// Requests since its start.
    pub requests_total: u64,
    /// Of those, answered with 429.
    pub throttled_total: u64,
    /// Requests in the last minute.
    pub requests_last_minute: u64,
    /// How many it allows itself in a minute.
    pub budget_per_minute: u64,
}

/// What every session tells: `sessions/<id>.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionFile {
    /// Version of this shape; 1.
    pub v: u32,
    /// The session's id.
    pub id: String,
    /// Its process id.
    pub pid: u32,
    /// Its program's version.
    pub version: String,
    /// When it began, RFC 3339, UTC.
    pub started_at: String,
    /// When its host last said anything; absent before it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_seen_at: Option<String>,
    /// Whether it polls.
    pub leads: bool,
    /// Whether it could poll: it is signed in and has a source.
    pub may_lead: bool,
    /// It follows a leader that shows no sign of moving.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leader_silent: bool,
    /// What keeps it from its work, with the fix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// The hosts at its other end.
    pub hosts: Vec<HostLine>,
    /// The consumers that they read as.
    pub consumers: Vec<String>,
    /// How messages reach them: `wait` and `pull` when they were used, `channel`, `resource` and `log ping` when they
    /// are sent unasked;
    /// the host's own wake-up by its name, with a word in brackets while it waits or fails.
    pub carriers: Vec<String>,
    /// From when on its wake-ups go again, RFC 3339, UTC, while those of the last hour are as many as may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake_ups_from: Option<String>,
    /// Waiting calls that are open.
    pub waiting_calls: u64,
    /// Its view of the journal.
    pub journal: JournalLine,
}

/// A host by its own word.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostLine {
    /// Its name.
    pub name: String,
    /// Its version; empty when it gives none.
    pub version: String,
}

/// Counters of one process since its start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JournalLine {
    /// Messages that left the memory window before its host had them; they are served from the files.
    pub spilled_total: u64,
    /// Messages truly lost because the disk took no writes for too long.
    pub dropped_total: u64,
    /// Unreadable pieces met in journal files.
    pub damaged_total: u64,
    /// Why the disk takes no writes, while it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_failure: Option<String>,
    /// Lines of the audit log that could not be written.
    #[serde(default)]
    pub interactions_failed_total: u64,
    /// Why the last of them could not be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interactions_failure: Option<String>,
}

impl From<JournalStats> for JournalLine {
    fn from(stats: JournalStats) -> Self {
        Self {
            spilled_total: stats.spilled_total,
            dropped_total: stats.dropped_total,
            damaged_total: stats.damaged_total,
            disk_failure: stats.disk_failure,
            interactions_failed_total: stats.interactions_failed_total,
            interactions_failure: stats.interactions_failure,
        }
    }
}
