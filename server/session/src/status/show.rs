//! A report as lines for a terminal: aligned, and coloured if the caller's stream shows colours.
//! It must never print a control character of foreign text.

use std::fmt::Write as _;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use jiff::Timestamp;

use super::amount::{ago, counted, since, size};
use super::report::Report;
use super::{SourceLine, judge, keeper};
use entraclaw_sanitize::clean_line;

const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default().bold();
const DIM: Style = Style::new().dimmed();
/// The columns of the names at the left.
const LABEL_COLUMNS: usize = 10;

/// The whole report as text.
pub fn human(report: &Report, now: Timestamp) -> String {
    let mut out = String::new();
    let (style, word) = if report.healthy { (GOOD, "healthy") } else { (BAD, "something is wrong") };
    line(&mut out, "status", &format!("{style}{word}{style:#}"));
    line(&mut out, "home", &clean_line(&report.home));
    match &report.leader {
        Some(leader) => {
            let since = report.status.as_ref().map(|status| status.leads_since.as_str());
            let since = since.map_or_else(String::new, |at| format!(", for {}", ago(at, now)));
            line(&mut out, "leader", &format!("process {}{since}", leader.file.pid));
        }
        None => line(&mut out, "leader", "none"),
    }
    sources(&mut out, report, now);
    sessions(&mut out, report, now);
    consumers(&mut out, report, now);
    let journal = &report.journal;
    let begins = journal.begins.as_ref().map_or_else(String::new, |day| format!(" since {day}"));
    line(
        &mut out,
        "journal",
        &format!(
            "{}{begins}, {}; {} spilled, {} lost",
            counted(journal.records, "message"),
            size(journal.bytes),
            journal.spilled_total,
            journal.dropped_total + journal.gone_total
        ),
    );
    if let Some(work) = &report.work {
        let jobs = format!(
            "{} running, {} on the way, {} finished, {}",
            counted(work.running, "job"),
            counted(work.on_the_way, "result"),
            work.finished,
            size(work.bytes)
        );
        line(&mut out, "work", &jobs);
    }
    if let Some(memory) = &report.memory {
        line(&mut out, "memory", &format!("{}, index {}", memory.sessions_in_a_line(), size(memory.bytes)));
    }
    if let Some(round) = report.status.as_ref().and_then(|status| status.upkeep.as_ref()) {
        let waits = if round.waits_for_calendar {
            ", waits until the calendar has been steady for a day"
        } else {
            ""
        };
        let done = format!(
            "{}, {} deleted {} ago{waits}",
            counted(round.files, "file"),
            size(round.bytes),
            ago(&round.at, now)
        );
        line(&mut out, "retention", &done);
    }
    for problem in &report.problems {
        line(&mut out, "problem", &format!("{BAD}{}{BAD:#}", clean_line(problem)));
    }
    for note in &report.notes {
        line(&mut out, "note", &format!("{DIM}{}{DIM:#}", clean_line(note)));
    }
    out
}

fn sources(out: &mut String, report: &Report, now: Timestamp) {
    let Some(status) = &report.status else { return };
    for source in &status.sources {
        let state = &source.state;
        let when = |at: Option<Timestamp>| {
            at.map_or("never".to_owned(), |at| format!("{} ago", ago(&at.to_string(), now)))
        };
        let lag =
            judge::lag(source, now).map_or_else(|| "-".to_owned(), |lag| format!("{} s", lag.as_secs()));
        let interval = source.poll_interval_ms.map(Duration::from_millis);
        let steady = interval.filter(|interval| is_steady(report, source, *interval, now));
        let told = if let Some(interval) = steady {
            // The file has the times of answered polls only now and then, and old ones would look like a halt.
            format!(
                "asked every {} s, answered as of {} ago, {}, {} behind",
                interval.as_secs_f32(),
                ago(&status.written_at, now),
                counted(state.conversations, "conversation"),
                state.behind
            )
        } else if interval.is_some() {
            format!(
                "asked {}, answered {}, lag {lag}, {}, {} behind",
                when(state.asked_at),
                when(state.answered_at),
                counted(state.conversations, "conversation"),
                state.behind
            )
        } else {
            let conversations = counted(state.conversations, "conversation");
            format!("last written to {}, {conversations}", when(state.asked_at))
        };
        line(out, &source.name, &told);
        for error in state.error.iter().chain(&state.unsaved) {
            line(out, "", &format!("{BAD}{}{BAD:#}", clean_line(error)));
        }
    }
    let graph = &status.graph;
    let used = format!(
        "{} of {} requests in the last minute, {} in all, {} throttled",
        graph.requests_last_minute, graph.budget_per_minute, graph.requests_total, graph.throttled_total
    );
    line(out, "graph", &used);
}

/// Whether the session that polls has said lately that this source answers.
fn is_steady(report: &Report, source: &SourceLine, interval: Duration, now: Timestamp) -> bool {
    let said = report.status.as_ref().and_then(|status| since(&status.written_at, now));
    let is_lately = said.is_some_and(|said| said <= interval.saturating_add(keeper::WORD_LASTS));
    report.leader.is_some() && is_lately && source.state.error.is_none() && !source.state.waits()
}

fn sessions(out: &mut String, report: &Report, now: Timestamp) {
    for session in &report.sessions {
        let file = &session.file;
        let hosts: Vec<String> =
            file.hosts.iter().map(|host| format!("{} {}", host.name, host.version)).collect();
        let state =
            if session.alive { String::new() } else { format!(" {DIM}(ended, file left over){DIM:#}") };
        let heard =
            file.host_seen_at.as_ref().map_or_else(String::new, |at| format!(", heard {} ago", ago(at, now)));
        let listed = |names: &[String], none: &str| {
            if names.is_empty() { none.to_owned() } else { clean_line(&names.join(", ")) }
        };
        line(
            out,
            "session",
            &format!(
                "{} {}{heard}; reads as {}; by {}{state}",
                file.pid,
                listed(&hosts, "no host yet").trim(),
                listed(&file.consumers, "nobody yet"),
                listed(&file.carriers, "none yet")
            ),
        );
        let from = file.wake_ups_from.as_ref().and_then(|from| from.parse::<Timestamp>().ok());
        if let Some(from) = from.filter(|from| session.alive && *from > now) {
            let told = format!(
                "its wake-ups wait until {from:.0}: the last hour had as many as `wake.messages_per_hour` lets through"
            );
            line(out, "", &format!("{BAD}{told}{BAD:#}"));
        }
    }
}

fn consumers(out: &mut String, report: &Report, now: Timestamp) {
    let columns = report.consumers.iter().map(|consumer| consumer.name.len()).max().unwrap_or(0);
    for consumer in &report.consumers {
        let oldest = consumer.oldest_unread_ts.as_ref();
        let oldest = oldest.map_or_else(String::new, |at| format!(", the oldest {} old", ago(at, now)));
        let seen = consumer
            .seen_at
            .as_ref()
            .map_or_else(|| "never".to_owned(), |at| format!("{} ago", ago(at, now)));
        let seen = if consumer.sessions > 0 { "attached".to_owned() } else { format!("seen {seen}") };
        let idle = if consumer.idle { ", idle" } else { "" };
        line(
            out,
            "consumer",
            &format!("{:columns$}  {:>4} unread{oldest}, {seen}{idle}", consumer.name, consumer.unread),
        );
    }
}

fn line(out: &mut String, label: &str, text: &str) {
    let label = clean_line(label);
    let _ = writeln!(out, "{label:LABEL_COLUMNS$} {text}");
}
