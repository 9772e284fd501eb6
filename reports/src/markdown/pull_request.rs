//! The report as a comment on a pull request: the result, the changes, the first failures. It never has the
//! matrix.

use std::fmt::Write;

use super::changes;
use super::pieces::{cell_code, code, fence, head, more, short_block};
use crate::counts::defects;
use crate::event::Status;
use crate::junit::failure_text;
use crate::model::{Failure, Host, Report, supported};

/// Most bytes of the whole text, approximately; it must be short to be read.
pub const PULL_REQUEST_BYTES_MAX: usize = 12_000;
/// Most failures.
const FAILURES_MAX: usize = 5;
/// Most bytes of each failure.
const FAILURE_BYTES_MAX: usize = 1_000;
/// Most columns in the table.
const HOSTS_MAX: usize = 40;

/// `summary.md`.
pub fn pull_request(report: &Report) -> String {
    let mut text = head(report);
    text.push_str(&changes::changes(report));
    // Known failures were reported when they became known.
    let known = |failure: &Failure| {
        report
            .gate
            .as_ref()
            .is_some_and(|gate| gate.knows(&failure.scenario, &failure.host, &failure.mode, &failure.rule))
    };
    let new: Vec<&Failure> = report.failures.iter().filter(|failure| !known(failure)).collect();
    for failure in new.iter().take(FAILURES_MAX) {
        let body = short_block(&failure_text(failure), FAILURE_BYTES_MAX);
        let fence = fence(&body);
        let (scenario, host) = (code(&failure.scenario), code(&failure.host));
        let head = format!("{} {scenario} on {host}", failure.state.label());
        let _ = writeln!(text, "{head}\n\n{fence}diff\n{body}{fence}\n");
    }
    let left_out = new.len().saturating_sub(FAILURES_MAX) as u64 + report.failures_left_out;
    if left_out > 0 {
        let _ = writeln!(text, "{} in `report.html`.\n", more(left_out));
    }
    hosts(report, &mut text);
    text
}

/// One line for each column with a failure or a missing result.
fn hosts(report: &Report, text: &mut String) {
    let wrong = |host: &Host| defects(&host.cells);
    let troubled: Vec<&Host> =
        report.hosts.iter().filter(|host| wrong(host) > 0 || host.cells[&Status::NotRun] > 0).collect();
    if troubled.is_empty() {
        return;
    }
    text.push_str("| | pass | went wrong | no result |\n| --- | --- | --- | --- |\n");
    for host in troubled.iter().take(HOSTS_MAX) {
        let (passed, missing) = (host.cells[&Status::Pass], host.cells[&Status::NotRun]);
        let (name, all, wrong) = (cell_code(&host.id), supported(&host.cells), wrong(host));
        let _ = writeln!(text, "| {name} | {passed}/{all} | {wrong} | {missing} |");
    }
    if troubled.len() > HOSTS_MAX {
        let _ = writeln!(text, "| {} more | | | |", troubled.len() - HOSTS_MAX);
    }
}
