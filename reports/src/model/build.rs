//! Builds the matrix from the stream. A pass must never hide another run of the same cell, and a cell without
//! a run must never get a result.

use std::collections::BTreeMap;

use super::runs::{NO_REASON, Numbered, reason};
use super::{
    Area, Cell, CellName, OneHostDiffers, REASON_CELLS_MAX, REPORT_VERSION, RUNS_LISTED_MAX, Reason, Report,
    Row, Run, Totals, Verdict, failures, hosts, parity,
};
use crate::counts::{Counts, count, no_counts};
use crate::event::{CellFinished, RunStarted, ScenarioRow, Status};
use crate::stream::Stream;

/// The reason of a cell without a run in the stream.
const NO_RESULT: &str = "the run has no result for this cell";
/// With fewer columns than this no column can be called the one that differs.
const COLUMNS_TO_DIFFER_MIN: usize = 3;

/// Levels, the strongest first.
const LEVELS: [&str; 3] = ["must", "should", "may"];
/// The runs of every cell, by scenario and host.
type Runs<'a> = BTreeMap<(&'a str, &'a str), Vec<Numbered<'a>>>;

impl Report {
    /// Derives the report of a run.
    pub fn new(stream: &Stream) -> Self {
        let mut runs = Runs::new();
        for (index, cell) in stream.cells.iter().enumerate() {
            runs.entry((&cell.scenario, &cell.host)).or_default().push((stream.line(index), cell));
        }
        for cell in runs.values_mut() {
            cell.sort_by(|(_, a), (_, b)| rank(a).cmp(&rank(b)));
        }
        let areas = areas(stream, &runs);
        let totals = totals(stream, &areas);
        let (failures, failures_left_out) = failures::list(stream, &areas, &runs);
        Self {
            v: REPORT_VERSION,
            tool: stream.header.tool.clone(),
            server: stream.header.server.clone(),
            server_facts: stream.header.server_facts.clone(),
            command: stream.header.command.clone(),
            seed: stream.header.seed,
            seeds: stream.header.seeds,
            findings_in: stream.header.findings_in.clone(),
            shard: stream.header.shard,
            verdict: verdict(&stream.header, &totals),
            must_only: stream.header.must_only,
            exit_code: stream.footer.exit_code,
            simulated_ms: stream.footer.simulated_ms,
            hosts: hosts::columns(stream, &areas),
            reasons: reasons(&areas),
            one_host_differs: one_host_differs(&areas),
            parity: parity::compare(stream),
            host_support: stream.header.host_support.clone(),
            gate: None,
            trend: None,
            totals,
            areas,
            failures,
            failures_left_out,
        }
    }

    /// All rows, from top to bottom.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.areas.iter().flat_map(|area| &area.rows)
    }

    /// The levels that occur, with their cells: must, should, may, then any other.
    pub fn levels(&self) -> Vec<(&str, &Counts)> {
        let rank = |level: &str| LEVELS.iter().position(|&known| known == level).unwrap_or(LEVELS.len());
        let mut levels: Vec<_> =
            self.totals.levels.iter().map(|(level, cells)| (level.as_str(), cells)).collect();
        levels.sort_by_key(|(level, _)| rank(level));
        levels
    }
}

/// The order of a cell's runs: worst first; then sim before process, then by seed.
fn rank(cell: &CellFinished) -> (std::cmp::Reverse<u8>, std::cmp::Reverse<&str>, u64) {
    (std::cmp::Reverse(cell.status.severity()), std::cmp::Reverse(&cell.mode), cell.seed)
}

fn areas(stream: &Stream, runs: &Runs<'_>) -> Vec<Area> {
    let mut areas: Vec<Area> = Vec::new();
    for scenario in &stream.header.scenarios {
        let cells = stream.header.hosts.iter().map(|host| {
            let runs = runs.get(&(scenario.id.as_str(), host.id.as_str()));
            cell(&host.id, runs.map_or(&[], Vec::as_slice))
        });
        let row = row(scenario, cells.collect());
        match areas.iter_mut().find(|area| area.name == scenario.area) {
            Some(area) => area.rows.push(row),
            None => areas.push(Area { name: scenario.area.clone(), rows: vec![row] }),
        }
    }
    areas
}

fn row(scenario: &ScenarioRow, cells: Vec<Cell>) -> Row {
    let ScenarioRow { id, title, area: _, level, says, source, file } = scenario.clone();
    Row { id, title, level, says, source, file, cells }
}

/// Merges the runs of a cell, which are sorted worst first.
fn cell(host: &str, runs: &[Numbered<'_>]) -> Cell {
    let mut by_mode: BTreeMap<String, Counts> = BTreeMap::new();
    let mut listed = Vec::new();
    for (line, run) in runs {
        let counts = by_mode.entry(run.mode.clone()).or_insert_with(no_counts);
        count(counts, run.status);
        let first_of_its_kind = counts[&run.status] == 1;
        let worth_it = run.status.is_defect() && listed.len() < RUNS_LISTED_MAX;
        if first_of_its_kind || worth_it {
            listed.push(summary(*line, run));
        }
    }
    let (state, reason) = match runs.first() {
        None => (Status::NotRun, Some(NO_RESULT.to_owned())),
        Some((_, worst)) => (worst.status, reason(worst)),
    };
    let runs_left_out = (runs.len() - listed.len()) as u64;
    Cell { host: host.to_owned(), state, reason, runs: by_mode, listed, runs_left_out }
}

fn summary(event_line: usize, run: &CellFinished) -> Run {
    Run {
        mode: run.mode.clone(),
        seed: run.seed,
        state: run.status,
        reason: reason(run),
        elapsed_ms: run.elapsed_ms,
        replay: run.replay.clone(),
        event_line,
    }
}

fn totals(stream: &Stream, areas: &[Area]) -> Totals {
    let mut cells = no_counts();
    let mut levels: BTreeMap<String, Counts> = BTreeMap::new();
    for row in areas.iter().flat_map(|area| &area.rows) {
        let level = levels.entry(row.level.clone()).or_insert_with(no_counts);
        for cell in &row.cells {
            count(&mut cells, cell.state);
            count(level, cell.state);
        }
    }
    Totals {
        requirements: stream.header.scenarios.len() as u64,
        hosts: stream.header.hosts.len() as u64,
        runs: stream.cells.len() as u64,
        cells,
        levels,
    }
}

/// An empty matrix proves nothing, so it is incomplete.
fn verdict(header: &RunStarted, totals: &Totals) -> Verdict {
    let fails = |level: &str, counts: &Counts| {
        counts.iter().any(|(state, &cells)| cells > 0 && header.fails_by(level, *state))
    };
    if totals.levels.iter().any(|(level, counts)| fails(level, counts)) {
        Verdict::Failed
    } else if totals.cells[&Status::NotRun] > 0 || totals.cells.values().all(|&cells| cells == 0) {
        Verdict::Incomplete
    } else {
        Verdict::Passed
    }
}

fn reasons(areas: &[Area]) -> Vec<Reason> {
    let mut found: Vec<Reason> = Vec::new();
    let mut places: BTreeMap<(Status, String), usize> = BTreeMap::new();
    for (row, cell) in cells(areas) {
        if cell.state == Status::Pass || cell.state.is_defect() {
            continue;
        }
        let reason = cell.reason.clone().unwrap_or_else(|| NO_REASON.to_owned());
        let place = *places.entry((cell.state, reason.clone())).or_insert_with(|| {
            found.push(Reason { state: cell.state, reason, cells: Vec::new(), cells_left_out: 0 });
            found.len() - 1
        });
        if found[place].cells.len() < REASON_CELLS_MAX {
            found[place].cells.push(CellName { scenario: row.id.clone(), host: cell.host.clone() });
        } else {
            found[place].cells_left_out += 1;
        }
    }
    // The sort is stable: within a state the order of the matrix stays.
    found.sort_by_key(|reason| std::cmp::Reverse(reason.state.severity()));
    found
}

fn cells(areas: &[Area]) -> impl Iterator<Item = (&Row, &Cell)> {
    areas.iter().flat_map(|area| &area.rows).flat_map(|row| row.cells.iter().map(move |cell| (row, cell)))
}

fn one_host_differs(areas: &[Area]) -> Vec<OneHostDiffers> {
    areas.iter().flat_map(|area| &area.rows).filter_map(odd_one).collect()
}

/// The column that differs from all others, among those to which the requirement applies. Unknown columns may
/// be the same as the others.
fn odd_one(row: &Row) -> Option<OneHostDiffers> {
    let silent = [Status::NotApplicable, Status::Unknown];
    let told: Vec<&Cell> = row.cells.iter().filter(|cell| !silent.contains(&cell.state)).collect();
    if told.len() < COLUMNS_TO_DIFFER_MIN {
        return None;
    }
    let mut states = no_counts();
    for cell in &told {
        count(&mut states, cell.state);
    }
    let (&others, _) = states.iter().find(|&(_, &cells)| cells == told.len() as u64 - 1)?;
    let odd = told.iter().find(|cell| cell.state != others)?;
    Some(OneHostDiffers { scenario: row.id.clone(), host: odd.host.clone(), state: odd.state, others })
}
