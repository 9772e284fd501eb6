//! The report as Markdown, small enough for a comment on a pull request. Every text from an event is in a
//! code span or a code block, where markup, mentions and links have no effect.

mod changes;
pub(crate) mod pieces;
mod pull_request;

use std::fmt::Write;

use self::pieces::{cell_code, code, fence, head, more, short_block};
use crate::junit::failure_text;
use crate::model::{Cell, Report, Times};
use crate::text::{counted, duration};

pub use pull_request::{PULL_REQUEST_BYTES_MAX, pull_request};

/// Most bytes of the whole text: the limit of a pull request comment, with room to spare.
pub const MARKDOWN_BYTES_MAX: usize = 60_000;
/// Bytes for the failures; the matrix gets the rest.
const FAILURES_BYTES_MAX: usize = 20_000;
/// Most bytes of one failure.
const FAILURE_BYTES_MAX: usize = 2_000;
/// Bytes for the sentence about missing rows.
const CUT_NOTE_BYTES: usize = 100;
/// Most reasons in the list.
const REASONS_MAX: usize = 20;

/// `report.md`.
pub fn markdown(report: &Report) -> String {
    let mut text = head(report);
    text.push_str(&changes::changes(report));
    text.push_str(&failures(report));
    text.push_str(&reasons(report));
    let tail = tail(report);
    matrix(report, &mut text, MARKDOWN_BYTES_MAX.saturating_sub(tail.len() + CUT_NOTE_BYTES));
    text.push_str(&tail);
    text
}

fn failures(report: &Report) -> String {
    let mut text = String::new();
    let mut shown = 0;
    for failure in &report.failures {
        let body = short_block(&failure_text(failure), FAILURE_BYTES_MAX);
        let fence = fence(&body);
        let [scenario, host, mode] = [&failure.scenario, &failure.host, &failure.mode].map(|name| code(name));
        let head = format!("{} {scenario} on {host} ({mode}, seed {})", failure.state.label(), failure.seed);
        let one = format!("{head}\n\n{fence}diff\n{body}{fence}\n\n");
        if text.len() + one.len() > FAILURES_BYTES_MAX {
            break;
        }
        text.push_str(&one);
        shown += 1;
    }
    let all = report.failures.len() as u64 + report.failures_left_out;
    if all > shown {
        let _ = writeln!(text, "{} left out here; `report.html` has more.\n", more(all - shown));
    }
    if text.is_empty() { text } else { format!("### What went wrong\n\n{text}") }
}

fn reasons(report: &Report) -> String {
    if report.reasons.is_empty() {
        return String::new();
    }
    let mut text = "### Neither passed nor failed\n\n".to_owned();
    for reason in report.reasons.iter().take(REASONS_MAX) {
        let cells = counted(reason.cells.len() as u64 + reason.cells_left_out, "cell", "cells");
        let _ = writeln!(text, "- {}, {cells}: {}", reason.state.label(), code(&reason.reason));
    }
    if report.reasons.len() > REASONS_MAX {
        let _ = writeln!(text, "- {} more reasons left out", report.reasons.len() - REASONS_MAX);
    }
    text.push('\n');
    text
}

fn matrix(report: &Report, text: &mut String, bytes_max: usize) {
    text.push_str("### Matrix\n\n| requirement | level |");
    for host in &report.hosts {
        let _ = write!(text, " {} |", cell_code(&host.id));
    }
    text.push_str("\n| --- | --- |");
    text.push_str(&" --- |".repeat(report.hosts.len()));
    text.push('\n');
    let (mut shown, all) = (0, report.totals.requirements);
    for area in &report.areas {
        let mut head = format!("| **{}** | |", cell_code(&area.name));
        head.push_str(&" |".repeat(report.hosts.len()));
        head.push('\n');
        for row in &area.rows {
            let mut line = std::mem::take(&mut head);
            let _ = write!(line, "| {} | {} |", cell_code(&row.id), cell_code(&row.level));
            row.cells.iter().for_each(|cell| push_cell(&mut line, cell));
            line.push('\n');
            if text.len() + line.len() > bytes_max {
                let _ =
                    writeln!(text, "\n{} of {all} rows left out here; `report.html` has them.", all - shown);
                return;
            }
            text.push_str(&line);
            shown += 1;
        }
    }
}

fn push_cell(line: &mut String, cell: &Cell) {
    let _ = write!(line, " {} {}", cell.state.symbol(), cell.state.word());
    let (same, all) = cell.share();
    if same < all {
        let _ = write!(line, " {same}/{all}");
    }
    line.push_str(" |");
}

fn tail(report: &Report) -> String {
    let mut text = "\n".to_owned();
    for host in &report.hosts {
        for times in &host.deliveries {
            let [p50, p95, p99, max] = [times.p50_ms, times.p95_ms, times.p99_ms, times.max_ms].map(duration);
            let (host, mode) = (code(&host.id), code(&times.mode));
            let messages = counted(times.messages, "message", "messages");
            let times = format!("p50 {p50}, p95 {p95}, p99 {p99}, max {max}");
            let _ = writeln!(text, "- {host}, {mode}: {messages} delivered, {times}");
        }
        if text.len() > MARKDOWN_BYTES_MAX / 4 {
            text.push_str("- further hosts left out\n");
            break;
        }
    }
    text.push_str(&reach(report));
    let parity = &report.parity;
    if parity.messages > 0 {
        let messages = counted(parity.messages, "message", "messages");
        let _ = writeln!(text, "- same characters by every carrier: {} of {messages}", parity.equal);
    }
    text
}

/// The carriers that reached each model, and their settings.
fn reach(report: &Report) -> String {
    let mut text = String::new();
    for host in &report.hosts {
        for reach in &host.reach {
            if text.is_empty() {
                text.push_str("\n### What reached the model\n\n| host | by | idle p50 / p99 | busy p50 / p99 | set up |\n| --- | --- | --- | --- | --- |\n");
            }
            if text.len() > MARKDOWN_BYTES_MAX / 4 {
                text.push_str("\n- further carriers left out\n");
                return text;
            }
            let times = |times: Option<Times>| match times {
                Some(times) => format!("{} / {}", duration(times.p50_ms), duration(times.p99_ms)),
                None => "–".to_owned(),
            };
            let set: Vec<String> = reach.set_up.iter().map(|set| cell_code(&set.name)).collect();
            let set = if set.is_empty() { "nothing".to_owned() } else { set.join(", ") };
            let names = [&host.id, &reach.mode, &reach.carrier];
            let [host, mode, carrier] = names.map(|name| cell_code(name));
            let (idle, busy) = (times(reach.idle), times(reach.busy));
            let _ = writeln!(text, "| {host} {mode} | {carrier} | {idle} | {busy} | {set} |");
        }
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}
