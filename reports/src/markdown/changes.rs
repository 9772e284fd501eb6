//! The comparison of a run with a baseline and with earlier releases; empty if there is neither.

use std::fmt::Write;

use super::pieces::{cell_code, code};
use crate::baseline::{Check, Expected, Gate};
use crate::history::{Point, Trend};
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
    let lists = [gate.new.len(), gate.stale.len(), gate.known.len(), gate.not_judged.len()];
    let [new, stale, known, not_judged] = lists.map(|list| counted(list as u64, "check", "checks"));
    let not_judged =
        if gate.not_judged.is_empty() { String::new() } else { format!(", {not_judged} not judged") };
    let _ = writeln!(text, "{new} new, {stale} stale, {known} known{not_judged}\n");
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
        let names = [&check.scenario, &check.host, &check.mode, &check.rule];
        let [scenario, host, mode, rule] = names.map(|name| code(name));
        let _ = writeln!(text, "- {scenario} on {host} ({mode}): {rule}");
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
        let Point { name, requirements, hosts, passed, counted, defects, .. } = point;
        let name = cell_code(name);
        let _ = writeln!(text, "| {name} | {requirements} | {hosts} | {passed}/{counted} | {defects} |");
    }
    text.push('\n');
    for change in trend.changes.iter().take(CHANGES_MAX) {
        let (scenario, host) = (code(&change.scenario), code(&change.host));
        let _ = writeln!(text, "- {scenario} on {host}: {} → {}", change.before.label(), change.now.label());
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
