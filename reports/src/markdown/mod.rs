//! The report as Markdown, small enough for a comment on a change. Whatever comes from an event stands in a code span
//! or a code block, where no markup, mention or link can come to life.

mod changes;
mod pull_request;

use std::fmt::Write;

use crate::event::Status;
use crate::junit::failure_text;
use crate::model::{Cell, Report, Times, Verdict};
use crate::text::{counted, duration, short_line, visible};

pub use pull_request::{PULL_REQUEST_BYTES_MAX, pull_request};

/// Bytes of the whole text: what a pull request comment takes, with room to spare.
pub const MARKDOWN_BYTES_MAX: usize = 60_000;
/// Bytes kept for the failures, the rest is the matrix.
const FAILURES_BYTES_MAX: usize = 20_000;
/// Bytes of one failure.
const FAILURE_BYTES_MAX: usize = 2_000;
/// Bytes of a name in a table.
const NAME_BYTES_MAX: usize = 120;
/// Bytes kept for the sentence that rows are missing.
const CUT_NOTE_BYTES: usize = 100;
/// Reasons that are listed.
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

fn head(report: &Report) -> String {
    let totals = &report.totals;
    let verdict = match report.verdict {
        Verdict::Passed => "✓ passed",
        Verdict::Failed => "✗ failed",
        Verdict::Incomplete => "? incomplete",
    };
    let mut text = format!(
        "## {}: {verdict}\n\n{} on {}: {}\n\n",
        report.subject(),
        counted(totals.requirements, "requirement", "requirements"),
        report.columns(),
        states(&totals.cells),
    );
    let version = report.server.version.as_deref().unwrap_or("unknown version");
    let _ = writeln!(
        text,
        "Server {} {}, {}. Repeat with {}\n",
        code(&report.server.name),
        code(version),
        report.runs(),
        code(&report.command),
    );
    text
}

/// `✓ 12 pass · ✗ 1 fail`, without the states that did not occur.
fn states(counts: &crate::model::Counts) -> String {
    let there = Status::ALL.into_iter().filter(|state| counts[state] > 0);
    there
        .map(|state| format!("{} {} {}", state.symbol(), counts[&state], state.word()))
        .collect::<Vec<_>>()
        .join(" · ")
}

fn failures(report: &Report) -> String {
    let mut text = String::new();
    let mut shown = 0;
    for failure in &report.failures {
        let body = short_block(&failure_text(failure), FAILURE_BYTES_MAX);
        let fence = fence(&body);
        let one = format!(
            "{} {} {} on {} ({}, seed {})\n\n{fence}diff\n{body}{fence}\n\n",
            failure.state.symbol(),
            failure.state.word(),
            code(&failure.scenario),
            code(&failure.host),
            code(&failure.mode),
            failure.seed,
        );
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

fn more(count: u64) -> String {
    counted(count, "more failure", "more failures")
}

fn short_block(text: &str, bytes_max: usize) -> String {
    let cut = crate::text::cut(text, bytes_max);
    let mut shown = visible(cut.head).into_owned();
    if cut.left_out_bytes > 0 {
        let _ = writeln!(shown, "\n… {} left out", crate::text::bytes(cut.left_out_bytes));
    }
    shown
}

/// A fence that the body does not contain.
fn fence(body: &str) -> String {
    "`".repeat(longest_run(body, '`').max(2) + 1)
}

fn reasons(report: &Report) -> String {
    if report.reasons.is_empty() {
        return String::new();
    }
    let mut text = "### Neither passed nor failed\n\n".to_owned();
    for reason in report.reasons.iter().take(REASONS_MAX) {
        let cells = reason.cells.len() as u64 + reason.cells_left_out;
        let _ = writeln!(
            text,
            "- {} {}, {}: {}",
            reason.state.symbol(),
            reason.state.word(),
            counted(cells, "cell", "cells"),
            code(&reason.reason),
        );
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
            let _ = writeln!(
                text,
                "- {}, {}: {} delivered, p50 {}, p95 {}, p99 {}, max {}",
                code(&host.id),
                code(&times.mode),
                counted(times.messages, "message", "messages"),
                duration(times.p50_ms),
                duration(times.p95_ms),
                duration(times.p99_ms),
                duration(times.max_ms),
            );
        }
        if text.len() > MARKDOWN_BYTES_MAX / 4 {
            text.push_str("- further hosts left out\n");
            break;
        }
    }
    text.push_str(&reach(report));
    let parity = &report.parity;
    if parity.messages > 0 {
        let _ = writeln!(
            text,
            "- same characters by every carrier: {} of {}",
            parity.equal,
            counted(parity.messages, "message", "messages"),
        );
    }
    text
}

/// Which carrier reached which model, and what was set for it.
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
            let _ = writeln!(
                text,
                "| {} {} | {} | {} | {} | {set} |",
                cell_code(&host.id),
                cell_code(&reach.mode),
                cell_code(&reach.carrier),
                times(reach.idle),
                times(reach.busy),
            );
        }
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// A code span that ends where it should, whatever it holds.
fn code(data: &str) -> String {
    let shown = short_line(data, NAME_BYTES_MAX);
    if shown.trim().is_empty() {
        return "(empty)".to_owned();
    }
    let ticks = "`".repeat(longest_run(&shown, '`') + 1);
    // A span of more than one tick, or one that starts or ends with a tick or space, is padded by one space.
    let pad = if shown.starts_with(['`', ' ']) || shown.ends_with(['`', ' ']) { " " } else { "" };
    format!("{ticks}{pad}{shown}{pad}{ticks}")
}

/// As [`code`] inside a table, where a bar would end the cell even in a code span.
fn cell_code(data: &str) -> String {
    code(&data.replace('|', "¦"))
}

fn longest_run(text: &str, wanted: char) -> usize {
    let (mut longest, mut current) = (0, 0);
    for character in text.chars() {
        current = if character == wanted { current + 1 } else { 0 };
        longest = longest.max(current);
    }
    longest
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("plain", "`plain`")]
    #[case("a`b``c", "```a`b``c```")]
    #[case("`", "`` ` ``")]
    #[case("<img src=x> @alice #1\n# head", "`<img src=x> @alice #1⏎# head`")]
    #[case(" ", "(empty)")]
    fn a_code_span_holds_anything(#[case] data: &str, #[case] shown: &str) {
        assert_eq!(code(data), shown);
    }

    #[test]
    fn a_bar_does_not_end_a_cell() {
        assert_eq!(cell_code("a|b"), "`a¦b`");
    }

    #[test]
    fn a_fence_is_longer_than_what_it_holds() {
        assert_eq!(fence("no ticks"), "```");
        assert_eq!(fence("five ````` ticks"), "``````");
    }
}
