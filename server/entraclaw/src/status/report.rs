//! Everything that the files tell, put together; it talks to nobody.
//! It must never fail because one file is missing or broken: then it says less.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::amount::{counted, since};
use entraclaw_inbox::journal::{Look, is_idle};
use entraclaw_inbox::sessions::{STATUS_FILE, SessionLine, StatusFile, read, sessions};
use entraclaw_seams::storage::Storage;
use entraclaw_work::{Survey, survey};

/// Over which requests are counted.
const MINUTE: Duration = Duration::from_secs(60);

/// What `entraclaw status --json` prints.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// Version of this shape; 1.
    pub v: u32,
    /// When it was looked, RFC 3339, UTC.
    pub at: String,
    /// The home folder.
    pub home: String,
    /// Whether nothing is wrong.
    pub healthy: bool,
    /// What is wrong, each with what helps.
    pub problems: Vec<String>,
    /// What is worth knowing and not wrong.
    pub notes: Vec<String>,
    /// The session that polls; absent when none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader: Option<SessionLine>,
    /// What the leader last said, or the one before; absent when nobody ever led.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<StatusFile>,
    /// Sessions that are there, and what is left of those that died.
    pub sessions: Vec<SessionLine>,
    /// Everybody who reads the inbox.
    pub consumers: Vec<ConsumerLine>,
    /// The files of messages.
    pub journal: JournalSummary,
    /// Work that outlives its caller; absent when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkSummary>,
}

/// Jobs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkSummary {
    /// Jobs whose process runs or is about to.
    pub running: u64,
    /// Jobs that have ended and whose result is on its way to a caller or to the inbox.
    pub on_the_way: u64,
    /// When the oldest of these ended, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_ended_at: Option<String>,
    /// Jobs whose process is gone without a result.
    pub lost: u64,
    /// Finished jobs whose folders are kept for a while.
    pub finished: u64,
    /// Bytes of all.
    pub bytes: u64,
    /// Jobs that can't be read, or why none can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A consumer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConsumerLine {
    /// Its name.
    pub name: String,
    /// Messages that it has not acknowledged.
    pub unread: u64,
    /// When the oldest of them was written, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_unread_ts: Option<String>,
    /// When it was last there, about to the hour, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_at: Option<String>,
    /// It was not seen for so long that it no longer keeps old messages from being deleted.
    pub idle: bool,
    /// Living sessions that read as it.
    pub sessions: u64,
}

/// The files of messages.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JournalSummary {
    /// Messages in it.
    pub records: u64,
    /// Bytes of its files.
    pub bytes: u64,
    /// The day on which it begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begins: Option<String>,
    /// Messages that left a memory window before a host had them, by all living sessions.
    pub spilled_total: u64,
    /// Messages truly lost, by all living sessions.
    pub dropped_total: u64,
    /// Why a living session's disk takes no writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_failure: Option<String>,
    /// Lines of the audit log that could not be written, by all living sessions.
    #[serde(default)]
    pub interactions_failed_total: u64,
    /// Why one of them could not be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interactions_failure: Option<String>,
    /// Damage in the files.
    pub damage: Vec<String>,
    /// What the files have lost, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
    /// How many messages are in no file and have not come again so far.
    #[serde(default)]
    pub gone_total: u64,
    /// Files with what an earlier repair could not read.
    pub kept_aside: Vec<String>,
    /// Why the journal can't be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Reads everything. Problems are added by [`super::judge`].
pub fn gather(storage: &Arc<dyn Storage>, home: &str, now: Timestamp, idle_days: u32) -> Report {
    let mut report = gather_sessions(&**storage, home, now);
    if let Err(error) = journal(storage, now, idle_days, &mut report) {
        report.journal.error = Some(error.to_string());
    }
    report.work = work(storage);
    report
}

fn work(storage: &Arc<dyn Storage>) -> Option<WorkSummary> {
    let survey = match survey(storage) {
        Ok(survey) => survey,
        Err(error) => return Some(WorkSummary { error: Some(error.to_string()), ..WorkSummary::default() }),
    };
    let unreadable = survey.unreadable;
    (survey != Survey::default()).then(|| WorkSummary {
        running: survey.running,
        on_the_way: survey.on_the_way,
        oldest_ended_at: survey.oldest_ended_at.map(|at| at.to_string()),
        lost: survey.lost,
        finished: survey.finished,
        bytes: survey.bytes,
        error: (unreadable > 0).then(|| format!("{} can't be read", counted(unreadable, "job"))),
    })
}

/// Reads what sessions say and nothing of the messages; cheap enough for every few seconds.
pub fn gather_sessions(storage: &dyn Storage, home: &str, now: Timestamp) -> Report {
    let mut report = Report { v: 1, at: now.to_string(), home: home.to_owned(), ..Report::default() };
    report.status = read(storage, STATUS_FILE);
    if let Some(status) = &mut report.status
        && since(&status.written_at, now).is_none_or(|time| time > MINUTE)
    {
        // It is written when something changed, so nothing was asked since.
        status.graph.requests_last_minute = 0;
    }
    report.sessions = sessions(storage);
    // One that was stopped and replaced says still that it leads, until it moves again.
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
    // Reading may have met more.
    report.journal.damage = look.damage();
    report.journal.kept_aside = look.kept_aside().to_vec();
    let losses = look.losses();
    report.journal.lost = losses.noticed_at().map(|_| losses.to_string());
    report.journal.gone_total = losses.gone() + look.missing();
    Ok(())
}
