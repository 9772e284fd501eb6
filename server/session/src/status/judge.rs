//! Finds the problems in a report, each with its fix: a pure function of the report and the time.
//! It must never report a quiet machine as a problem: without a session no polling is expected.

use std::time::Duration;

use jiff::Timestamp;

use super::amount::{between, counted, counted_with, since};
use super::report::{JournalSummary, Report};
use super::{SessionLine, SourceLine, StatusFile};
use entraclaw_inbox::journal::LOST_FILE;
use entraclaw_inbox::source::SourceState;

/// A source is late if its last answer is older than this many polls, and older than [`LATE_AFTER_MIN`].
const LATE_POLLS: u32 = 5;
const LATE_AFTER_MIN: Duration = Duration::from_secs(120);
/// A result of work that has waited for this time is late.
pub const RESULT_LATE: Duration = Duration::from_secs(60);
/// The time that a new leader has for its first answer.
const SETTLE: Duration = Duration::from_secs(30);

/// Adds problems and notes to a report. `config` has the mistakes of the configuration.
pub fn judge(report: &mut Report, config: &[String], now: Timestamp) {
    let mut problems: Vec<String> = config.to_vec();
    let mut notes = Vec::new();
    sessions(report, &mut problems, &mut notes);
    problems.extend(reading(report, now));
    journal(report, &mut problems, &mut notes);
    work(report, now, &mut problems, &mut notes);
    consumers(report, &mut notes);
    report.healthy = problems.is_empty();
    report.problems = problems;
    report.notes = notes;
}

/// Results of work that no session brings to the inbox.
fn work(report: &Report, now: Timestamp, problems: &mut Vec<String>, notes: &mut Vec<String>) {
    let Some(work) = &report.work else { return };
    if let Some(error) = &work.error {
        problems.push(format!(
            "work/ in the home folder: {error}; repair the folder, or delete what is broken in it"
        ));
    }
    if work.lost > 0 {
        notes.push(format!(
            "{} ended without a result; the next session of a host says so in the inbox",
            counted(work.lost, "job")
        ));
    }
    let waits = work.oldest_ended_at.and_then(|at| between(at, now));
    let Some(_) = waits.filter(|waits| *waits > RESULT_LATE) else { return };
    let results = counted(work.on_the_way, "result");
    if report.sessions.iter().any(|session| session.alive) {
        problems.push(format!(
            "{results} of work did not reach the inbox in a minute, though a session runs; see its log, and start the host again"
        ));
    } else {
        notes.push(format!("{results} of work will reach the inbox when a host starts a session"));
    }
}

/// The problems that keep the session that polls from reading or storing, or that its last one had.
pub fn reading(report: &Report, now: Timestamp) -> Vec<String> {
    let mut problems = Vec::new();
    let Some(status) = &report.status else { return problems };
    if report.leader.is_some() {
        sources(status, now, &mut problems);
        problems.extend(status.sponsors.as_ref().map(|line| line.trouble.clone()));
        return problems;
    }
    // A failure that was short when the session ended is not known to last.
    let ended = status.written_at.parse().unwrap_or(now);
    for source in &status.sources {
        let last = |error: &String| format!("{}, in the last session: {error}", source.name);
        problems.extend(source.state.unsaved.as_ref().map(last));
        problems.extend(serious(source, ended).map(last));
    }
    problems
}

/// The error of a source, if it lasts. For a source that never worked, every error counts.
fn serious(source: &SourceLine, now: Timestamp) -> Option<&String> {
    let SourceState { error, failures, answered_at, serious_from, .. } = &source.state;
    let is_serious = *failures > 1 || answered_at.is_none() || serious_from.is_some_and(|from| from <= now);
    error.as_ref().filter(|_| is_serious)
}

fn sessions(report: &Report, problems: &mut Vec<String>, notes: &mut Vec<String>) {
    let alive: Vec<_> = report.sessions.iter().filter(|session| session.alive).collect();
    let ended = report.sessions.len() - alive.len();
    if ended > 0 {
        notes.push(format!(
            "{} left over from processes that died; the next leader removes what is left",
            counted_with(ended as u64, "session file", ["is", "are"])
        ));
    }
    for session in &alive {
        problems.extend(idle(session));
    }
    if let Some(leader) = &report.leader {
        let pid = leader.file.pid;
        if alive.iter().any(|session| session.file.leader_silent) {
            problems.push(format!(
                "process {pid} polls, but does not move: it was stopped (Ctrl-Z) or hangs; resume it with `fg`, or end \
                 it; another session takes over within 30 s"
            ));
        }
        for session in alive.iter().filter(|s| s.file.leads && s.file.id != leader.file.id) {
            notes.push(format!(
                "process {} did not move and was replaced as the one that polls; it follows when it moves again",
                session.file.pid
            ));
        }
    }
    if alive.is_empty() {
        notes.push("no session is running, so nothing is polled; start a host".to_owned());
    } else if report.leader.is_none() {
        let able = alive.iter().any(|session| session.file.may_lead);
        problems.push(if able {
            "no session polls; one should within two seconds, so look again, then run `entraclaw doctor`"
                .to_owned()
        } else {
            "no session polls, for none is signed in with a source switched on; run `entraclaw doctor`"
                .to_owned()
        });
    }
}

/// Why a running session does nothing, if so.
pub fn idle(session: &SessionLine) -> Option<String> {
    let trouble = session.file.trouble.as_ref().filter(|_| session.alive)?;
    Some(format!("session {} does nothing: {trouble}", session.file.pid))
}

fn sources(status: &StatusFile, now: Timestamp, problems: &mut Vec<String>) {
    for source in &status.sources {
        let leads_long = since(&status.leads_since, now).is_some_and(|time| time > SETTLE);
        if source.poll_interval_ms.is_some() && source.state.asked_at.is_none() && leads_long {
            problems.push(format!(
                "{0}: never asked, for the session that leads can't; sign in, or set `{0}.enabled = false`",
                source.name
            ));
            continue;
        }
        problems.extend(source.state.unsaved.as_ref().map(|why| format!("{}: {why}", source.name)));
        if let Some(error) = serious(source, now) {
            problems.push(format!("{}: {error}", source.name));
        } else if let Some(secs) = unanswered(source, now) {
            problems.push(format!(
                "{}: no answer for {secs} s; run `entraclaw doctor` to see whether Graph answers",
                source.name
            ));
        } else if let Some(lag) = lag(source, now)
            && late_after(source).is_some_and(|late| lag > late)
        {
            let leads_for = since(&status.leads_since, now);
            if leads_for.is_none_or(|time| time > SETTLE) {
                let secs = lag.as_secs();
                problems.push(format!(
                    "{}: nothing was read for {secs} s; run `entraclaw doctor` to see whether Graph answers",
                    source.name
                ));
            }
        }
    }
    if status.graph.throttled_total > 0 && status.graph.requests_last_minute >= status.graph.budget_per_minute
    {
        problems.push("graph: the budget of requests is used up; raise `teams.poll_interval`".to_owned());
    }
}

/// The seconds that a source has waited for an answer, if that is long.
fn unanswered(source: &SourceLine, now: Timestamp) -> Option<i64> {
    source.poll_interval_ms?;
    source.state.silence(now).map(|time| time.as_secs())
}

/// The time after which a source counts as late; `None` if it is not polled.
pub fn late_after(source: &SourceLine) -> Option<Duration> {
    let interval = Duration::from_millis(source.poll_interval_ms?);
    Some(interval.saturating_mul(LATE_POLLS).max(LATE_AFTER_MIN))
}

/// The time since a source last got a complete answer.
pub fn lag(source: &SourceLine, now: Timestamp) -> Option<Duration> {
    between(source.state.answered_at?, now)
}

/// The text about missing lines of the audit log.
pub fn audit(journal: &JournalSummary) -> String {
    let why = journal.interactions_failure.as_deref().unwrap_or("its file can't be written");
    let lines = journal.interactions_failed_total;
    format!(
        "{lines} lines of the audit log could not be written: {why}; make the folder interactions/ writable"
    )
}

/// The text about which session repairs damage of the journal, and when.
pub fn mending(report: &Report) -> String {
    match &report.leader {
        Some(leader) => format!(
            "process {0}, which polls, mends it within ten seconds, so look again; if it stays, end process {0}, and the \
             next session mends it",
            leader.file.pid
        ),
        None => "start a session: it mends the file and keeps what can't be read aside".to_owned(),
    }
}

fn journal(report: &Report, problems: &mut Vec<String>, notes: &mut Vec<String>) {
    let journal = &report.journal;
    if let Some(error) = &journal.error {
        problems.push(format!("the journal can't be read: {error}"));
    }
    if let Some(failure) = &journal.disk_failure {
        problems.push(format!(
            "the disk takes no writes, so messages are in memory only: {failure}; free some space under {}",
            report.home
        ));
    }
    if journal.interactions_failed_total > 0 {
        problems.push(audit(journal));
    }
    if journal.dropped_total > 0 {
        problems.push(format!(
            "{} lost while the disk took no writes; `interactions/` names what is gone",
            counted_with(journal.dropped_total, "message", ["was", "were"])
        ));
    }
    if let Some(lost) = &journal.lost {
        let forget = format!("delete {LOST_FILE} once you have read this");
        match journal.gone_total {
            0 => notes.push(format!("{lost}; {forget}")),
            _ => problems.push(format!(
                "{lost}; look at the disk, ask who wrote meanwhile to write again, and {forget}"
            )),
        }
    }
    for damage in &journal.damage {
        problems.push(format!("the journal is damaged: {damage}; {}", mending(report)));
    }
    if !journal.kept_aside.is_empty() {
        notes.push(format!(
            "what could not be read of the journal is kept in inbox/: {}",
            journal.kept_aside.join(", ")
        ));
    }
    let upkeep = report.status.as_ref().and_then(|status| status.upkeep.as_ref());
    if let Some(round) = upkeep {
        if let Some(error) = &round.error {
            problems.push(format!("old files could not be deleted: {error}"));
        }
        if !round.held_back_by.is_empty() {
            notes.push(format!(
                "old messages are kept, for they are unread by {}",
                round.held_back_by.join(" and ")
            ));
        }
    }
}

fn consumers(report: &Report, notes: &mut Vec<String>) {
    for consumer in report.consumers.iter().filter(|consumer| consumer.idle && consumer.unread > 0) {
        notes.push(format!(
            "{} was not seen for so long that its {} may be deleted when old",
            consumer.name,
            counted(consumer.unread, "unread message")
        ));
    }
}

#[cfg(test)]
mod tests;
