//! Compares two runs: changed cells, broken and fixed checks, removed rows. A cell that only one of the runs
//! has must never be called worse.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use crate::baseline::{Baseline, Check};
use crate::history::Change;
use crate::markdown::pieces::code;
use crate::model::Report;
use crate::stream::Stream;
use crate::text::{counted, duration, short_line};

/// Most lines of each list that are printed; the rest is counted.
const LINES_MAX: usize = 40;
/// Most bytes of a line.
const LINE_BYTES_MAX: usize = 300;

/// The changes from one run to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Versus {
    /// Cells of both runs whose state changed, the worst first.
    pub changes: Vec<Change>,
    /// Checks that fail in the second run only.
    pub broken: Vec<Check>,
    /// Checks that failed in the first run, and were judged and did not fail in the second.
    pub healed: Vec<Check>,
    /// Rows and columns of the second run only.
    pub added: Vec<String>,
    /// Rows and columns of the first run only.
    pub removed: Vec<String>,
    /// Hosts whose delivery times changed.
    pub deliveries: Vec<DeliveryChange>,
}

/// The delivery times of a host in both runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DeliveryChange {
    /// The column.
    pub host: String,
    /// Always `sim`: real times differ from run to run and prove nothing here.
    pub mode: String,
    /// 95th percentile in the first run, in milliseconds.
    pub before_p95_ms: u64,
    /// 95th percentile in the second run, in milliseconds.
    pub now_p95_ms: u64,
}

impl Versus {
    /// Compares two runs.
    pub fn new(before: &Stream, now: &Stream) -> Self {
        let (old, new) = (Report::new(before), Report::new(now));
        let gate = Baseline::default().update(before).judge(now);
        let names = |report: &Report| -> BTreeSet<String> {
            report
                .rows()
                .map(|row| row.id.clone())
                .chain(report.hosts.iter().map(|host| host.id.clone()))
                .collect()
        };
        let (had, has) = (names(&old), names(&new));
        Self {
            changes: changes(&old, &new),
            broken: gate.new,
            healed: gate.stale.iter().map(crate::baseline::Expected::check).collect(),
            added: has.difference(&had).cloned().collect(),
            removed: had.difference(&has).cloned().collect(),
            deliveries: deliveries(&old, &new),
        }
    }

    /// Whether the second run is worse: a check broke, or a cell lost its result.
    pub fn is_worse(&self) -> bool {
        let silent = |change: &Change| change.now == crate::event::Status::NotRun;
        !self.broken.is_empty() || self.changes.iter().any(silent)
    }

    /// The changes as Markdown, for a pull request: a sentence, and a line for each requirement that broke or was mended.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        for (checks, mark, what) in [(&self.broken, "✗", "fails now"), (&self.healed, "✓", "holds again")]
        {
            let mut rows: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
            for check in checks {
                rows.entry(&check.scenario).or_default().insert(&check.host);
            }
            list(&mut text, &rows.into_iter().collect::<Vec<_>>(), |(row, columns)| {
                let columns = columns.iter().map(|column| code(column)).collect::<Vec<_>>().join(", ");
                format!("- {mark} {} {what} in {columns}", code(row))
            });
        }
        let silent = self.changes.iter().filter(|change| change.now == crate::event::Status::NotRun);
        let silent: Vec<_> = silent.collect();
        list(&mut text, &silent, |change| {
            format!("- · {} has no result any more in {}", code(&change.scenario), code(&change.host))
        });
        let checks = |list: &[Check]| counted(list.len() as u64, "check", "checks");
        let nothing = self.broken.is_empty() && self.healed.is_empty() && silent.is_empty();
        let sum = if nothing {
            "nothing changed for better or worse".to_owned()
        } else {
            format!("{} broken, {} mended", checks(&self.broken), checks(&self.healed))
        };
        if text.is_empty() { format!("{sum}\n") } else { format!("{sum}\n\n{text}") }
    }

    /// The changes as text, for a terminal or a pipe.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let check = |word: &'static str| move |check: &Check| format!("{word}  {}", check.name());
        list(&mut text, &self.broken, check("broken"));
        list(&mut text, &self.healed, check("healed"));
        list(&mut text, &self.changes, |change| {
            let (before, now) = (change.before.word(), change.now.word());
            format!("changed {} × {}: {before} → {now}", change.scenario, change.host)
        });
        list(&mut text, &self.added, |name| format!("added   {name}"));
        list(&mut text, &self.removed, |name| format!("removed {name}"));
        list(&mut text, &self.deliveries, |change| {
            let (before, now) = (duration(change.before_p95_ms), duration(change.now_p95_ms));
            format!("p95     {} ({}): {before} → {now}", change.host, change.mode)
        });
        let checks = |list: &[Check]| counted(list.len() as u64, "check", "checks");
        let (broken, healed) = (checks(&self.broken), checks(&self.healed));
        let changed = counted(self.changes.len() as u64, "cell", "cells");
        text + &format!("{broken} broken, {healed} healed, {changed} changed")
    }
}

fn list<T>(text: &mut String, items: &[T], line: impl Fn(&T) -> String) {
    for item in items.iter().take(LINES_MAX) {
        text.push_str(&short_line(&line(item), LINE_BYTES_MAX));
        text.push('\n');
    }
    if items.len() > LINES_MAX {
        let _ = writeln!(text, "        {} more", items.len() - LINES_MAX);
    }
}

fn changes(old: &Report, new: &Report) -> Vec<Change> {
    let cells = |report: &Report| -> BTreeMap<(String, String), crate::event::Status> {
        let cells = report.rows().flat_map(|row| row.cells.iter().map(move |cell| (row, cell)));
        cells.map(|(row, cell)| ((row.id.clone(), cell.host.clone()), cell.state)).collect()
    };
    let before = cells(old);
    let both = cells(new).into_iter().filter_map(|(place, now)| Some((*before.get(&place)?, now, place)));
    let mut changes: Vec<Change> = both
        .filter(|(before, now, _)| before != now)
        .map(|(before, now, (scenario, host))| Change { scenario, host, before, now })
        .collect();
    changes.sort_by_key(|change| std::cmp::Reverse(change.now.severity()));
    changes
}

fn deliveries(old: &Report, new: &Report) -> Vec<DeliveryChange> {
    let mut found = Vec::new();
    for host in &new.hosts {
        let before =
            old.hosts.iter().find(|other| other.id == host.id).map_or(&[][..], |other| &other.deliveries);
        for now in host.deliveries.iter().filter(|now| now.mode == crate::event::SIM) {
            let before = before.iter().find(|before| before.mode == now.mode);
            if let Some(before) = before.filter(|before| before.p95_ms != now.p95_ms) {
                found.push(DeliveryChange {
                    host: host.id.clone(),
                    mode: now.mode.clone(),
                    before_p95_ms: before.p95_ms,
                    now_p95_ms: now.p95_ms,
                });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(scenario: &str, host: &str) -> Check {
        Check {
            scenario: scenario.to_owned(),
            host: host.to_owned(),
            mode: "process".to_owned(),
            rule: scenario.to_owned(),
        }
    }

    #[test]
    fn the_markdown_names_each_requirement_once_with_its_columns() {
        let versus = Versus {
            changes: Vec::new(),
            broken: vec![check("tools.call", "2025-11-25"), check("tools.call", "2026-07-28")],
            healed: vec![check("lifecycle.ping", "2025-11-25")],
            added: Vec::new(),
            removed: Vec::new(),
            deliveries: Vec::new(),
        };
        let wanted = "2 checks broken, 1 check mended\n\n\
                      - ✗ `tools.call` fails now in `2025-11-25`, `2026-07-28`\n\
                      - ✓ `lifecycle.ping` holds again in `2025-11-25`\n";
        assert_eq!(versus.markdown(), wanted);
        let same = Versus { broken: Vec::new(), healed: Vec::new(), ..versus };
        assert_eq!(same.markdown(), "nothing changed for better or worse\n");
    }
}
