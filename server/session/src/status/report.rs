//! Gathers everything from the files into one report; it asks no process.
//! It must never fail because a file is missing or broken: then the report has less.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::amount::since;
use super::memory::MemorySummary;
use entraclaw_inbox::journal::{Look, is_idle};
use entraclaw_inbox::sessions::{STATUS_FILE, SessionLine, StatusFile, read, sessions};
use entraclaw_seams::storage::Storage;
use entraclaw_work::{WorkSummary, survey};

/// The time over which requests are counted.
const MINUTE: Duration = Duration::from_secs(60);

/// The document that `entraclaw status --json` prints.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// The version of this format: 1.
    pub v: u32,
    /// The time of the report, RFC 3339, UTC.
    pub at: String,
    /// The home folder.
    pub home: String,
    /// Whether there is no problem.
    pub healthy: bool,
    /// The problems, each with its fix.
    pub problems: Vec<String>,
    /// Facts that are worth knowing and are no problems.
    pub notes: Vec<String>,
    /// The session that polls; absent if none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader: Option<SessionLine>,
    /// The last status of the leader or of its predecessor; absent if no session ever led.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<StatusFile>,
    /// The running sessions, and the files of ended ones.
    pub sessions: Vec<SessionLine>,
    /// The consumers of the inbox.
    pub consumers: Vec<ConsumerLine>,
    /// The files of messages.
    pub journal: JournalSummary,
    /// Work that outlives its caller; absent when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkSummary>,
    /// The memory of all agents' sessions; absent where nothing was indexed yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemorySummary>,
}

/// A consumer of the inbox.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConsumerLine {
    /// The name of the consumer.
    pub name: String,
    /// Messages that it has not acknowledged.
    pub unread: u64,
    /// When the oldest of these was written, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_unread_ts: Option<String>,
    /// When it was last seen, precise to about an hour, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_at: Option<String>,
    /// Whether it was not seen for so long that it does not keep old messages from being deleted.
    pub idle: bool,
    /// Running sessions that read as it.
    pub sessions: u64,
}

/// The files of messages.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JournalSummary {
    /// The number of messages.
    pub records: u64,
    /// The size of the files.
    pub bytes: u64,
    /// The first day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begins: Option<String>,
    /// Messages that left a memory window before a host had them, by all running sessions.
    pub spilled_total: u64,
    /// Messages that are lost, by all running sessions.
    pub dropped_total: u64,
    /// Why a running session's disk can't be written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_failure: Option<String>,
    /// Lines of the audit log that could not be written, by all running sessions.
    #[serde(default)]
    pub interactions_failed_total: u64,
    /// Why one of these lines could not be written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interactions_failure: Option<String>,
    /// Damage in the files.
    pub damage: Vec<String>,
    /// The losses of the files, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
    /// The number of messages that are in no file and have not come again so far.
    #[serde(default)]
    pub gone_total: u64,
    /// Files with parts that an earlier repair could not read.
    pub kept_aside: Vec<String>,
    /// Why the journal can't be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Reads all files. [`super::judge`] adds the problems.
pub fn gather(storage: &Arc<dyn Storage>, home: &str, now: Timestamp, idle_days: u32) -> Report {
    let mut report = gather_sessions(&**storage, home, now);
    if let Err(error) = journal(storage, now, idle_days, &mut report) {
        report.journal.error = Some(error.to_string());
    }
    report.work = Some(survey(storage)).filter(|work| *work != WorkSummary::default());
    report
}

/// Reads only the files of sessions, not the messages; cheap enough for every few seconds.
pub fn gather_sessions(storage: &dyn Storage, home: &str, now: Timestamp) -> Report {
    let mut report = Report { v: 1, at: now.to_string(), home: home.to_owned(), ..Report::default() };
    report.status = read(storage, STATUS_FILE);
    if let Some(status) = &mut report.status
        && since(&status.written_at, now).is_none_or(|time| time > MINUTE)
    {
        // It is written more often while a source is asked, so nothing was.
        status.graph.requests_last_minute = 0;
    }
    report.sessions = sessions(storage);
    // A stopped and replaced leader's file says that it leads until it goes on.
    let said_last = report.status.as_ref().map(|status| status.session.clone());
    let leaders = report.sessions.iter().filter(|session| session.alive && session.file.leads);
    report.leader = leaders.max_by_key(|session| Some(&session.file.id) == said_last.as_ref()).cloned();
    let alive = report.sessions.iter().filter(|session| session.alive).map(|session| &session.file.journal);
    for line in alive {
        report.journal.spilled_total += line.spilled_total;
        report.journal.dropped_total += line.dropped_total;
        report.journal.disk_failure = report.journal.disk_failure.take().or(line.disk_failure.clone());
        report.journal.interactions_failed_total += line.interactions_failed_total;
        let audit = &mut report.journal.interactions_failure;
        *audit = audit.take().or(line.interactions_failure.clone());
    }
    report
}

fn journal(
    storage: &Arc<dyn Storage>,
    now: Timestamp,
    idle_days: u32,
    report: &mut Report,
) -> io::Result<()> {
    let mut look = Look::at(storage)?;
    report.journal.records = look.records();
    report.journal.bytes = look.bytes();
    report.journal.begins = look.begins()?;
    for name in look.consumers() {
        let sessions = report.sessions.iter().filter(|session| session.alive);
        let sessions = sessions.filter(|session| session.file.consumers.iter().any(|c| c == name.as_str()));
        let sessions = sessions.count() as u64;
        let seen_at = look.seen_at(&name);
        let oldest = look.waiting(&name, 1)?.pop();
        report.consumers.push(ConsumerLine {
            unread: look.unread(&name)?,
            oldest_unread_ts: oldest.map(|handed| handed.record.ts),
            seen_at: seen_at.map(|at| at.to_string()),
            idle: sessions == 0 && seen_at.is_some_and(|at| is_idle(at, now, idle_days)),
            sessions,
            name: name.to_string(),
        });
    }
    // Reading may have found more damage.
    report.journal.damage = look.damage();
    report.journal.kept_aside = look.kept_aside().to_vec();
    let losses = look.losses();
    report.journal.lost = losses.noticed_at().map(|_| losses.to_string());
    report.journal.gone_total = losses.gone() + look.missing();
    Ok(())
}
