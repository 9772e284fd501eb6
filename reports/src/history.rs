//! The results of earlier releases, one line each, and the comparison of a run with them. It must never
//! compare cells that only one of them has: a new row or column is new, neither better nor worse.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::counts::{Counts, defects, supported};
use crate::event::Status;
use crate::text::short_line;

/// Version of the line's format.
pub const HISTORY_VERSION: u32 = 1;
/// Most releases that a report shows; the newest ones.
pub const RELEASES_SHOWN_MAX: usize = 24;
/// Most changed cells that a report lists; the rest is counted.
pub const CHANGES_MAX: usize = 100;

/// One line of `history.jsonl`: a release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Release {
    /// [`HISTORY_VERSION`].
    pub v: u32,
    /// Its name, unique in the file.
    pub release: String,
    /// The server that was judged, with its version.
    pub server: String,
    /// Name and version of the harness.
    pub tool: String,
    /// Seeds per cell.
    pub seeds: u64,
    /// Results in the stream.
    pub runs: u64,
    /// Merged cells by state.
    pub cells: Counts,
    /// For each level, cells that pass and cells that count.
    pub levels: BTreeMap<String, (u64, u64)>,
    /// The columns.
    pub hosts: Vec<String>,
    /// For each requirement, the symbol of each column's state.
    pub rows: BTreeMap<String, String>,
}

/// A run compared with earlier releases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Trend {
    /// The newest releases, oldest first.
    pub releases: Vec<Point>,
    /// Releases before those.
    pub releases_left_out: u64,
    /// The numbers of this run.
    pub now: Point,
    /// Cells of the last release that have another state in this run, worst first.
    pub changes: Vec<Change>,
    /// Changes that are not listed.
    pub changes_left_out: u64,
    /// Requirements that only this run has.
    pub rows_new: u64,
    /// Requirements that only the last release has.
    pub rows_gone: u64,
}

/// The numbers of a release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Point {
    /// Its name.
    pub name: String,
    /// Rows.
    pub requirements: u64,
    /// Columns.
    pub hosts: u64,
    /// Cells that pass.
    pub passed: u64,
    /// Cells that count.
    pub counted: u64,
    /// Cells with a defect.
    pub defects: u64,
    /// Cells that could not run.
    pub not_run: u64,
    /// Known issues.
    pub known: u64,
}

/// A cell that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Change {
    /// The row.
    pub scenario: String,
    /// The column.
    pub host: String,
    /// Its state in the last release.
    pub before: Status,
    /// Its state in this run.
    pub now: Status,
}

/// Why a file is no history.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct InvalidHistory {
    /// The line of the file, from 1.
    pub line: usize,
    /// The problem in it.
    pub problem: String,
}

impl Release {
    /// The numbers of the release.
    pub fn point(&self) -> Point {
        let of = |state| self.cells.get(&state).copied().unwrap_or(0);
        Point {
            name: self.release.clone(),
            requirements: self.rows.len() as u64,
            hosts: self.hosts.len() as u64,
            passed: of(Status::Pass),
            counted: supported(&self.cells),
            defects: defects(&self.cells),
            not_run: of(Status::NotRun),
            known: of(Status::KnownIssue),
        }
    }

    fn states(&self) -> BTreeMap<(&str, &str), Status> {
        let of = |symbol: char| {
            Status::ALL.into_iter().find(|state| state.symbol().starts_with(symbol)).unwrap_or(Status::NotRun)
        };
        let rows = self.rows.iter();
        rows.flat_map(|(row, symbols)| {
            let cells = self.hosts.iter().zip(symbols.chars());
            cells.map(move |(host, symbol)| ((row.as_str(), host.as_str()), of(symbol)))
        })
        .collect()
    }
}

/// Reads `history.jsonl`, oldest release first.
pub fn read(text: &str) -> Result<Vec<Release>, InvalidHistory> {
    let mut releases: Vec<Release> = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let invalid = |problem| InvalidHistory { line, problem };
        let release: Release = serde_json::from_str(text)
            .map_err(|error| invalid(format!("not a release: {}", short_line(&error.to_string(), 320))))?;
        if release.v != HISTORY_VERSION {
            return Err(invalid(format!("`v` is {}, this reader knows {HISTORY_VERSION}", release.v)));
        }
        if releases.iter().any(|known| known.release == release.release) {
            let name = short_line(&release.release, 80);
            return Err(invalid(format!("release `{name}` is there twice; remove one of the lines")));
        }
        releases.push(release);
    }
    Ok(releases)
}

impl Trend {
    /// Compares a run with earlier releases.
    pub fn new(releases: &[Release], now: &Release) -> Self {
        let mut trend = Self {
            releases: releases.iter().rev().take(RELEASES_SHOWN_MAX).rev().map(Release::point).collect(),
            releases_left_out: releases.len().saturating_sub(RELEASES_SHOWN_MAX) as u64,
            now: now.point(),
            changes: Vec::new(),
            changes_left_out: 0,
            rows_new: 0,
            rows_gone: 0,
        };
        if let Some(last) = releases.last() {
            trend.compare(last, now);
        }
        trend
    }

    fn compare(&mut self, last: &Release, now: &Release) {
        self.rows_new = now.rows.keys().filter(|row| !last.rows.contains_key(*row)).count() as u64;
        self.rows_gone = last.rows.keys().filter(|row| !now.rows.contains_key(*row)).count() as u64;
        let before = last.states();
        let changed = now.states().into_iter().filter_map(|((scenario, host), state)| {
            let was = *before.get(&(scenario, host))?;
            let change =
                Change { scenario: scenario.to_owned(), host: host.to_owned(), before: was, now: state };
            (was != state).then_some(change)
        });
        self.changes = changed.collect();
        self.changes.sort_by_key(|change| std::cmp::Reverse(change.now.severity()));
        self.changes_left_out = self.changes.len().saturating_sub(CHANGES_MAX) as u64;
        self.changes.truncate(CHANGES_MAX);
    }
}
