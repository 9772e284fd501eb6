//! The comparison of a run with a baseline and with earlier releases; empty if there is neither.

use std::fmt::Write;

use super::pieces::{cell_code, code};
use crate::baseline::{Check, Expected, Gate};
use crate::history::Trend;
use crate::model::Report;
use crate::text::counted;

/// Most checks in each list.
const CHECKS_MAX: usize = 15;
/// Most changed cells in the list.
const CHANGES_MAX: usize = 15;
/// Most releases in the table.
const RELEASES_MAX: usize = 6;

/// Both comparisons, or an empty text.
pub(super) fn changes(report: &Report) -> String {
    let mut text = report.gate.as_ref().map(gate).unwrap_or_default();
    if let Some(found) = &report.trend {
        text.push_str(&trend(found, report.column_words().many));
    }
    text
}

fn gate(gate: &Gate) -> String {
    let mut text = "### Against the baseline\n\n".to_owned();
    let count = |list: usize| counted(list as u64, "check", "checks");
    let _ = writeln!(
        text,
        "{} new, {} stale, {} known{}\n",
        count(gate.new.len()),
        count(gate.stale.len()),
        count(gate.known.len()),
        if gate.not_judged.is_empty() {
            String::new()
        } else {
            format!(", {} not judged", count(gate.not_judged.len()))
        },
    );
    checks(&mut text, "New: fails, and the baseline does not expect it", &gate.new);
    let stale: Vec<Check> = gate.stale.iter().map(Expected::check).collect();
    checks(&mut text, "Stale: passes; remove it with `hostcheck baseline update`", &stale);
    text
}

fn checks(text: &mut String, title: &str, checks: &[Check]) {
    if checks.is_empty() {
        return;
    }
    let _ = writeln!(text, "{title}:\n");
    for check in checks.iter().take(CHECKS_MAX) {
        let _ = writeln!(
            text,
            "- {} on {} ({}): {}",
            code(&check.scenario),
            code(&check.host),
            code(&check.mode),
            code(&check.rule)
        );
    }
    if checks.len() > CHECKS_MAX {
        let _ = writeln!(text, "- {} more", checks.len() - CHECKS_MAX);
    }
    text.push('\n');
}

fn trend(trend: &Trend, columns: &str) -> String {
    let mut text = format!(
        "### Across releases\n\n| release | requirements | {columns} | pass | went wrong |\n| --- | --- | --- | --- | --- |\n"
    );
    let skip = trend.releases.len().saturating_sub(RELEASES_MAX);
    for point in trend.releases.iter().skip(skip).chain([&trend.now]) {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {}/{} | {} |",
            cell_code(&point.name),
            point.requirements,
            point.hosts,
            point.passed,
            point.counted,
            point.defects
        );
    }
    text.push('\n');
    for change in trend.changes.iter().take(CHANGES_MAX) {
        let _ = writeln!(
            text,
            "- {} on {}: {} → {}",
            code(&change.scenario),
            code(&change.host),
            change.before.label(),
            change.now.label()
        );
    }
    let more = trend.changes.len().saturating_sub(CHANGES_MAX) as u64 + trend.changes_left_out;
    if more > 0 {
        let _ = writeln!(text, "- {}", counted(more, "more cell changed", "more cells changed"));
    }
    if !trend.changes.is_empty() {
        text.push('\n');
    }
    text
}
