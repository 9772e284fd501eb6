//! JUnit XML for CI systems: one suite for each host, one case for each requirement and mode. Only a pass may
//! be reported as success, and the file must never hold a time of day.

use std::fmt::Write;
use std::time::Duration;

use quick_junit::{NonSuccessKind, Report as Junit, SerializeError, TestCase, TestCaseStatus, TestSuite};

use crate::event::{Status, fails};
use crate::model::{Cell, Counts, Failure, Report, Row, Run};
use crate::text::{short_line, visible};

/// Most bytes of a failure's text in one case; `report.html` has the rest.
const TEXT_BYTES_MAX: usize = 16 * 1024;
/// Most bytes of a message in an attribute.
const MESSAGE_BYTES_MAX: usize = 400;

/// `junit.xml`.
pub fn junit(report: &Report) -> Result<String, SerializeError> {
    let mut junit = Junit::new("hostcheck");
    for (column, host) in report.hosts.iter().enumerate() {
        let mut suite = TestSuite::new(clean(&host.id));
        for area in &report.areas {
            for row in &area.rows {
                let cell = &row.cells[column];
                let modes = cell.runs.iter().map(Some);
                // A cell without a run is a case too; otherwise it would look as if it had not been selected.
                for mode in if cell.runs.is_empty() { vec![None] } else { modes.collect() } {
                    let mut case = case(report, row, cell, mode);
                    case.set_classname(clean(&area.name));
                    suite.add_test_case(case);
                }
            }
        }
        junit.add_test_suite(suite);
    }
    junit.to_string()
}

fn case(report: &Report, row: &Row, cell: &Cell, mode: Option<(&String, &Counts)>) -> TestCase {
    let state = mode.map_or(cell.state, |(_, counts)| worst(counts));
    let name = match mode {
        Some((mode, _)) => format!("{} ({mode})", row.id),
        None => row.id.clone(),
    };
    let run = cell.listed.iter().find(|run| mode.is_some_and(|(mode, _)| run.mode == *mode));
    let reason = run.map_or(cell.reason.as_deref(), |run| run.reason.as_deref()).unwrap_or_default();
    let beside_baseline = mode.and_then(|(mode, _)| beside_baseline(report, row, cell, mode, state));
    let spared = || spared(report, row, state, reason);
    let mut status = beside_baseline.or_else(spared).unwrap_or_else(|| plain(state, reason));
    if state.is_defect() {
        let found = report.failures.iter().filter(|failure| {
            failure.scenario == row.id
                && failure.host == cell.host
                && mode.is_some_and(|(mode, _)| failure.mode == *mode)
        });
        status.set_description(description(found, run));
    }
    let mut case = TestCase::new(clean(&name), status);
    if let Some(run) = run {
        case.set_time(Duration::from_millis(run.elapsed_ms));
    }
    case
}

fn plain(state: Status, reason: &str) -> TestCaseStatus {
    let mut status = match state {
        Status::Pass => return TestCaseStatus::success(),
        Status::Fail | Status::Flaky => TestCaseStatus::non_success(NonSuccessKind::Failure),
        Status::Error => TestCaseStatus::non_success(NonSuccessKind::Error),
        Status::Unsupported
        | Status::NotApplicable
        | Status::Unknown
        | Status::KnownIssue
        | Status::NotRun => TestCaseStatus::skipped(),
    };
    status.set_type(state.word());
    status.set_message(short_line(&format!("{}: {reason}", state.word()), MESSAGE_BYTES_MAX));
    status
}

/// What does not fail the run is no failure in the file: systems of CI count these.
fn spared(report: &Report, row: &Row, state: Status, reason: &str) -> Option<TestCaseStatus> {
    if !state.is_defect() || fails(report.must_only, &row.level, state) {
        return None;
    }
    let mut status = TestCaseStatus::skipped();
    status.set_type(format!("{}-{}", row.level, state.word()));
    status.set_message(short_line(&format!("{}: {reason}", state.word()), MESSAGE_BYTES_MAX));
    Some(status)
}

/// A cell that fails only as expected does not count; one that passes although it is expected to fail does.
fn beside_baseline(
    report: &Report,
    row: &Row,
    cell: &Cell,
    mode: &str,
    state: Status,
) -> Option<TestCaseStatus> {
    let gate = report.gate.as_ref()?;
    let stale = gate.stale_rules(&row.id, &cell.host, mode);
    if !stale.is_empty() {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status.set_type("stale-baseline");
        let advice = "remove it with `hostcheck baseline update`";
        let message = format!("{stale} passes, and the baseline expects it to fail; {advice}");
        status.set_message(short_line(&message, MESSAGE_BYTES_MAX));
        return Some(status);
    }
    if state.is_defect() && !gate.has_new(&row.id, &cell.host, mode) {
        let mut status = TestCaseStatus::skipped();
        status.set_type("known-failure");
        status.set_message("fails as the baseline expects");
        return Some(status);
    }
    None
}

fn worst(counts: &Counts) -> Status {
    let there = counts.iter().filter(|&(_, &runs)| runs > 0).map(|(&state, _)| state);
    there.max_by_key(|state| state.severity()).unwrap_or(Status::NotRun)
}

fn description<'a>(failures: impl Iterator<Item = &'a Failure>, run: Option<&Run>) -> String {
    let mut text = String::new();
    for failure in failures {
        text.push_str(&failure_text(failure));
        text.push('\n');
    }
    if text.is_empty()
        && let Some(run) = run
    {
        text = format!("replay: {}\n", run.replay);
    }
    let cut = crate::text::cut(&text, TEXT_BYTES_MAX);
    let mut shown = visible(cut.head).into_owned();
    if cut.left_out_bytes > 0 {
        let _ = write!(shown, "\n… {} left out\n", crate::text::bytes(cut.left_out_bytes));
    }
    shown
}

/// One failure as plain text: fault, place, difference, replay command.
pub(crate) fn failure_text(failure: &Failure) -> String {
    let Failure { rule, message, place, .. } = failure;
    let mut text = format!("{rule}: {message}\n  at {place}{}\n", failure.when());
    for line in &failure.diff {
        let _ = writeln!(text, "  {} {}", line.side.sign(), line.text());
    }
    let _ = writeln!(text, "  replay: {}", failure.replay);
    text
}

fn clean(name: &str) -> String {
    short_line(name, MESSAGE_BYTES_MAX)
}
