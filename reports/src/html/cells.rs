//! The cells behind the matrix: one by one if they have details, otherwise folded with equal cells of the
//! row. No cell may be dropped: each is detailed, or named in a fold.

use std::collections::BTreeMap;

use super::families::versions;
use super::transcript::{Names, Rows, view_rows, wire_rows};
use crate::event::{CellFinished, Status};
use crate::model::{Area, Cell, Failure, Host, Report, Row, Run};
use crate::stream::Stream;
use crate::text::thousands;

/// Share of the bytes that cells with a defect may take first, in percent.
const DEFECT_PERCENT: usize = 56;
/// Most bytes of one cell with a defect.
const DEFECT_CELL_BYTES_MAX: usize = 90_000;
/// Most bytes of any other cell.
const CELL_BYTES_MAX: usize = 40_000;
/// Fewest bytes for a transcript to be useful; with less room, only cells with a defect are detailed.
const CELL_BYTES_MIN: usize = 1_500;
/// Most cells with a defect that are detailed; the rest is folded by reason.
const DEFECTS_DETAILED_MAX: usize = 100;
/// Most failures of the page that are repeated in their cells; with more, a cell links to its failures.
const FAILURES_TWICE_MAX: usize = 40;
/// Most runs of a cell that are named.
const RUNS_NAMED_MAX: usize = 3;
/// Most runs of a cell with a transcript: the worst, and one of another mode.
const RUNS_SHOWN_MAX: usize = 2;

/// A group of rows.
pub(super) struct AreaView<'a> {
    pub(super) area: &'a Area,
    pub(super) rows: Vec<RowView<'a>>,
}

/// A row, its number over the whole page, and its cells.
pub(super) struct RowView<'a> {
    pub(super) number: usize,
    pub(super) row: &'a Row,
    pub(super) odd: bool,
    pub(super) cells: Vec<CellView<'a>>,
    pub(super) folds: Vec<Fold<'a>>,
}

/// A cell: its place on the page, and its details if it has some.
pub(super) struct CellView<'a> {
    pub(super) cell: &'a Cell,
    /// The id of its own element, or of its fold.
    pub(super) anchor: String,
    pub(super) same: u64,
    pub(super) all: u64,
    pub(super) detail: Option<Detail<'a>>,
}

/// The details of a cell.
pub(super) struct Detail<'a> {
    pub(super) host: &'a Host,
    pub(super) column: usize,
    pub(super) failures: Vec<Told<'a>>,
    /// Whether the failures are shown elsewhere on the page.
    pub(super) told_above: bool,
    pub(super) named: &'a [Run],
    pub(super) runs_left_out: u64,
    pub(super) runs: Vec<RunView<'a>>,
}

/// Cells of a row with the same state and reason.
pub(super) struct Fold<'a> {
    pub(super) id: String,
    pub(super) state: Status,
    pub(super) reason: Option<&'a str>,
    /// `all 28 hosts`, or families with their versions.
    pub(super) hosts: String,
    /// `64 sim, 12 process`; empty if no run took place.
    pub(super) runs: String,
    /// The command that repeats the first of them.
    pub(super) replay: Option<&'a str>,
    columns: Vec<usize>,
    modes: BTreeMap<&'a str, u64>,
}

/// A run with its transcript.
pub(super) struct RunView<'a> {
    pub(super) run: &'a Run,
    pub(super) event: &'a CellFinished,
    pub(super) view: Rows,
    pub(super) wire: Rows,
}

/// A failure. Neighbours that share its replay command don't repeat it.
pub(super) struct Told<'a> {
    pub(super) failure: &'a Failure,
    pub(super) with_replay: bool,
}

/// Every cell of the report, with at most about `detail_bytes` of transcripts. `told` are the failures that
/// the page shows.
pub(super) fn areas<'a>(
    report: &'a Report,
    stream: &'a Stream,
    told: &'a [Failure],
    detail_bytes: usize,
) -> Vec<AreaView<'a>> {
    let room = Room::new(report, detail_bytes);
    let mut failures: BTreeMap<(&str, &str), Vec<&Failure>> = BTreeMap::new();
    for failure in told {
        failures.entry((&failure.scenario, &failure.host)).or_default().push(failure);
    }
    let (mut number, mut defects) = (0, 0);
    let mut areas = Vec::new();
    for area in &report.areas {
        let mut rows = Vec::new();
        for row in &area.rows {
            number += 1;
            let place = Place { report, stream, number, told_above: told.len() > FAILURES_TWICE_MAX };
            rows.push(place.row(row, &failures, &room, &mut defects));
        }
        areas.push(AreaView { area, rows });
    }
    areas
}

/// The data around the cells of a row.
struct Place<'a> {
    report: &'a Report,
    stream: &'a Stream,
    number: usize,
    told_above: bool,
}

impl<'a> Place<'a> {
    fn row(
        &self,
        row: &'a Row,
        failures: &BTreeMap<(&str, &str), Vec<&'a Failure>>,
        room: &Room,
        defects: &mut usize,
    ) -> RowView<'a> {
        let mut folds: Vec<Fold<'a>> = Vec::new();
        let mut cells = Vec::new();
        for (column, cell) in row.cells.iter().enumerate() {
            let (same, all) = cell.share();
            let bytes_max = room.of(cell.state);
            *defects += usize::from(cell.state.is_defect());
            let one_too_many = cell.state.is_defect() && *defects > DEFECTS_DETAILED_MAX;
            let (anchor, detail) = if bytes_max > 0 && all > 0 && !one_too_many {
                let found =
                    failures.get(&(row.id.as_str(), cell.host.as_str())).map_or(&[][..], Vec::as_slice);
                (
                    format!("c{}-{}", self.number, column + 1),
                    Some(self.detail(cell, column, found, bytes_max)),
                )
            } else {
                (self.fold(&mut folds, column, cell), None)
            };
            cells.push(CellView { cell, anchor, same, all, detail });
        }
        for fold in &mut folds {
            fold.hosts = versions(&self.report.hosts, &fold.columns);
            let modes = fold.modes.iter().rev().map(|(mode, runs)| format!("{} {mode}", thousands(*runs)));
            fold.runs = modes.collect::<Vec<_>>().join(", ");
        }
        let odd = self.report.one_host_differs.iter().any(|odd| odd.scenario == row.id);
        RowView { number: self.number, row, odd, cells, folds }
    }

    fn detail(
        &self,
        cell: &'a Cell,
        column: usize,
        failures: &[&'a Failure],
        bytes_max: usize,
    ) -> Detail<'a> {
        let told_above = self.told_above && !failures.is_empty();
        let named = &cell.listed[..cell.listed.len().min(RUNS_NAMED_MAX)];
        Detail {
            host: &self.report.hosts[column],
            column,
            failures: if told_above { Vec::new() } else { told(failures) },
            told_above,
            named,
            runs_left_out: cell.runs_left_out + (cell.listed.len() - named.len()) as u64,
            runs: self.runs(cell, &format!("{}-{}", self.number, column + 1), bytes_max),
        }
    }

    /// Adds a cell to its fold and gives the fold's id.
    fn fold(&self, folds: &mut Vec<Fold<'a>>, column: usize, cell: &'a Cell) -> String {
        let reason = cell.reason.as_deref();
        let same = |fold: &Fold<'a>| (fold.state, fold.reason) == (cell.state, reason);
        let place = folds.iter().position(same).unwrap_or_else(|| {
            folds.push(Fold {
                id: format!("g{}-{}", self.number, folds.len() + 1),
                state: cell.state,
                reason,
                hosts: String::new(),
                runs: String::new(),
                replay: None,
                columns: Vec::new(),
                modes: BTreeMap::new(),
            });
            folds.len() - 1
        });
        let fold = &mut folds[place];
        fold.columns.push(column);
        if cell.state.counts() {
            for (mode, counts) in &cell.runs {
                *fold.modes.entry(mode).or_insert(0) += counts.values().sum::<u64>();
            }
            fold.replay = fold.replay.or_else(|| cell.listed.first().map(|run| run.replay.as_str()));
        }
        fold.id.clone()
    }

    fn runs(&self, cell: &'a Cell, id: &str, bytes_max: usize) -> Vec<RunView<'a>> {
        let stream = self.stream;
        let with_event = cell.listed.iter().filter_map(|run| Some((run, stream.at_line(run.event_line)?)));
        let kept =
            with_event.filter(|(_, event)| !event.transcript.is_empty() || !event.model_view.is_empty());
        let mut modes: Vec<&str> = Vec::new();
        let chosen: Vec<_> = kept
            .filter(|(run, _)| {
                let new = !modes.contains(&run.mode.as_str());
                modes.push(&run.mode);
                new
            })
            .take(RUNS_SHOWN_MAX)
            .collect();
        let bytes_max = bytes_max / chosen.len().max(1);
        let mut runs = Vec::new();
        for (run, event) in chosen {
            let prefix = format!("w{id}{}", if runs.is_empty() { "" } else { "b" });
            let names = Names { prefix: &prefix, event_line: run.event_line };
            let view = view_rows(event, names, bytes_max / 3);
            let wire = wire_rows(event, names, bytes_max.saturating_sub(view.html.len()));
            runs.push(RunView { run, event, view, wire });
        }
        runs
    }
}

/// Failures with their replay commands.
pub(super) fn told<'a>(failures: &[&'a Failure]) -> Vec<Told<'a>> {
    let replays = failures.iter().skip(1).map(|failure| Some(&failure.replay)).chain([None]);
    let both = failures.iter().zip(replays);
    both.map(|(failure, next)| Told { failure, with_replay: next != Some(&failure.replay) }).collect()
}

/// Bytes for the transcript of each cell: defects get much, the other cells share the rest or get none.
struct Room {
    defect_bytes: usize,
    other_bytes: usize,
}

impl Room {
    fn new(report: &Report, detail_bytes: usize) -> Self {
        let cells = || report.rows().flat_map(|row| &row.cells).filter(|cell| cell.state.counts());
        let defects = cells().filter(|cell| cell.state.is_defect()).count().min(DEFECTS_DETAILED_MAX);
        let for_defects = detail_bytes * DEFECT_PERCENT / 100;
        // A defect always gets a place of its own, at least for its runs.
        let defect_bytes = (for_defects / defects.max(1)).clamp(1, DEFECT_CELL_BYTES_MAX);
        let rest = detail_bytes - (defect_bytes * defects).min(for_defects);
        let other_bytes = rest / (cells().count() - defects).max(1);
        let other_bytes = if other_bytes < CELL_BYTES_MIN { 0 } else { other_bytes.min(CELL_BYTES_MAX) };
        Self { defect_bytes, other_bytes }
    }

    fn of(&self, state: Status) -> usize {
        match state {
            state if state.is_defect() => self.defect_bytes,
            state if state.counts() => self.other_bytes,
            _ => 0,
        }
    }
}
