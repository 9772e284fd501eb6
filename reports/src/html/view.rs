//! What the template is filled with. Only arranges: every number is the model's, every text goes through `markup`.

use std::collections::BTreeMap;

use askama::Template;

use super::markup::Markup;
use super::transcript::{Names, Rows, view_rows, wire_rows};
use super::{SCRIPT, STYLE, events_link, policy, say};
use crate::event::{CellFinished, Status};
use crate::model::{Area, Cell, Deliveries, Failure, Host, Reach, Report, Row, Run, Verdict};
use crate::stream::Stream;
use crate::text::{counted, thousands};

/// Bytes of HTML that the transcripts of all cells share.
const DETAIL_BYTES: usize = 1_250_000;
/// The part of it that cells with a defect may take first.
const DEFECT_BYTES: usize = 700_000;
/// Bytes that one cell with a defect takes at most.
const DEFECT_CELL_BYTES_MAX: usize = 90_000;
/// Bytes that any other cell takes at most.
const CELL_BYTES_MAX: usize = 40_000;
/// Runs of a cell that are shown with their transcript: the worst, and one of another mode.
const RUNS_SHOWN_MAX: usize = 2;

#[derive(Template)]
#[template(path = "report.html", whitespace = "minimize")]
pub(super) struct Page<'a> {
    report: &'a Report,
    policy: String,
    style: Markup,
    script: Markup,
    areas: Vec<AreaView<'a>>,
    failures: Vec<FailureView<'a>>,
    events: Option<Markup>,
}

/// A group of rows.
struct AreaView<'a> {
    area: &'a Area,
    rows: Vec<RowView<'a>>,
}

/// A row, its number over the whole page, and its cells.
struct RowView<'a> {
    number: usize,
    row: &'a Row,
    odd: bool,
    cells: Vec<CellView<'a>>,
}

/// A cell and what its drill-down shows.
struct CellView<'a> {
    id: String,
    host: &'a Host,
    cell: &'a Cell,
    same: u64,
    all: u64,
    failures: Vec<Told<'a>>,
    runs: Vec<RunView<'a>>,
}

/// A run with its transcript.
struct RunView<'a> {
    run: &'a Run,
    event: &'a CellFinished,
    view: Rows,
    wire: Rows,
}

/// What went wrong in one cell.
struct FailureView<'a> {
    state: Status,
    host: &'a str,
    title: &'a str,
    cell_id: String,
    failures: Vec<Told<'a>>,
}

/// A failure; its replay command is told once for neighbours that share it.
struct Told<'a> {
    failure: &'a Failure,
    with_replay: bool,
}

impl<'a> Page<'a> {
    pub(super) fn new(report: &'a Report, stream: &'a Stream) -> Self {
        let own = |html: &str| {
            let mut markup = Markup::default();
            markup.push_html(html);
            markup
        };
        let (style, script) = (own(STYLE), own(SCRIPT));
        let areas = areas(report, stream);
        let ids: BTreeMap<(&str, &str), (&str, &str)> = areas
            .iter()
            .flat_map(|area| &area.rows)
            .flat_map(|row| row.cells.iter().map(move |cell| (row, cell)))
            .map(|(row, cell)| {
                let place = (row.row.id.as_str(), cell.cell.host.as_str());
                (place, (cell.id.as_str(), row.row.title.as_str()))
            })
            .collect();
        let by_cell = report.failures.chunk_by(|a, b| (&a.scenario, &a.host) == (&b.scenario, &b.host));
        let failures = by_cell.filter_map(|failures| {
            let first = failures.first()?;
            let (id, title) = *ids.get(&(first.scenario.as_str(), first.host.as_str()))?;
            let (state, host, cell_id) = (first.state, first.host.as_str(), id.to_owned());
            Some(FailureView {
                state,
                host,
                title,
                cell_id,
                failures: told(&failures.iter().collect::<Vec<_>>()),
            })
        });
        let failures = failures.collect();
        Self { report, policy: policy(), style, script, areas, failures, events: events_link(stream) }
    }

    // What follows, and all of `say`, is called by the template.

    fn verdict_state(&self) -> Status {
        match self.report.verdict {
            Verdict::Passed => Status::Pass,
            Verdict::Failed => Status::Fail,
            Verdict::Incomplete => Status::NotRun,
        }
    }

    fn headline(&self) -> String {
        let totals = &self.report.totals;
        format!("{} × {}", counted(totals.requirements, "requirement", "requirements"), self.report.columns())
    }

    /// What follows the headline, in a few words.
    fn outcome(&self) -> String {
        let cells = &self.report.totals.cells;
        let all: u64 = cells.values().sum();
        let defects: u64 = cells.iter().filter(|(state, _)| state.is_defect()).map(|(_, cells)| cells).sum();
        match self.report.verdict {
            Verdict::Passed if cells[&Status::Pass] == all => "all green".to_owned(),
            Verdict::Passed => "nothing fails".to_owned(),
            Verdict::Failed => format!("{} of {} cells went wrong", thousands(defects), thousands(all)),
            Verdict::Incomplete => {
                format!("{} of {} cells have no result", thousands(cells[&Status::NotRun]), thousands(all))
            }
        }
    }

    /// States that occur, with their cells.
    fn tiles(&self) -> Vec<(Status, u64)> {
        let cells = &self.report.totals.cells;
        Status::ALL.into_iter().map(|state| (state, cells[&state])).filter(|&(_, cells)| cells > 0).collect()
    }

    /// The bar under the headline: state, start and width in thousandths.
    fn bar(&self) -> Vec<(Status, u64, u64)> {
        let all: u64 = self.report.totals.cells.values().sum();
        let mut done = 0;
        let mut parts = Vec::new();
        for (state, cells) in self.tiles() {
            let start = done * 1_000 / all;
            done += cells;
            parts.push((state, start, done * 1_000 / all - start));
        }
        parts
    }

    fn levels(&self) -> Vec<&str> {
        self.report.levels().into_iter().map(|(level, _)| level).collect()
    }

    fn level_number(&self, row: &Row) -> usize {
        self.levels().iter().position(|&level| level == row.level).unwrap_or(0)
    }

    fn times(&self) -> Vec<(&Host, &Deliveries)> {
        self.report
            .hosts
            .iter()
            .flat_map(|host| host.deliveries.iter().map(move |times| (host, times)))
            .collect()
    }

    /// What reached each host's model, with whether the host is named in this row.
    fn reach(&self) -> Vec<(Option<&str>, &Reach)> {
        let rows = |host: &'a Host| {
            host.reach
                .iter()
                .enumerate()
                .map(move |(place, reach)| ((place == 0).then_some(host.id.as_str()), reach))
        };
        self.report.hosts.iter().flat_map(rows).collect()
    }

    /// Carriers of any host, most messages first, with each host's part.
    fn carriers(&self) -> Vec<(&str, Vec<Option<&crate::model::Carrier>>)> {
        let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
        for carrier in self.report.hosts.iter().flat_map(|host| &host.carriers) {
            let sum = sums.entry(&carrier.name).or_insert(0);
            *sum = sum.saturating_add(carrier.messages);
        }
        let mut names: Vec<_> = sums.into_iter().collect();
        names.sort_by_key(|&(_, sum)| std::cmp::Reverse(sum));
        let of = |host: &'a Host, name: &str| host.carriers.iter().find(|carrier| carrier.name == name);
        let row = |(name, _)| (name, self.report.hosts.iter().map(|host| of(host, name)).collect());
        names.into_iter().map(row).collect()
    }
}

fn areas<'a>(report: &'a Report, stream: &'a Stream) -> Vec<AreaView<'a>> {
    let room = Room::new(report);
    let mut number = 0;
    let mut areas = Vec::new();
    for area in &report.areas {
        let mut rows = Vec::new();
        for row in &area.rows {
            number += 1;
            let cells = row.cells.iter().enumerate();
            rows.push(RowView {
                number,
                row,
                odd: report.one_host_differs.iter().any(|odd| odd.scenario == row.id),
                cells: cells
                    .map(|(column, cell)| {
                        cell_view(
                            report,
                            stream,
                            row,
                            cell,
                            column,
                            format!("c{number}-{}", column + 1),
                            &room,
                        )
                    })
                    .collect(),
            });
        }
        areas.push(AreaView { area, rows });
    }
    areas
}

fn cell_view<'a>(
    report: &'a Report,
    stream: &'a Stream,
    row: &'a Row,
    cell: &'a Cell,
    column: usize,
    id: String,
    room: &Room,
) -> CellView<'a> {
    let (same, all) = cell.share();
    let of_cell = |failure: &&Failure| failure.scenario == row.id && failure.host == cell.host;
    let failures = told(&report.failures.iter().filter(of_cell).collect::<Vec<_>>());
    let mut runs: Vec<RunView<'a>> = Vec::new();
    let with_event = cell.listed.iter().filter_map(|run| Some((run, event_of(stream, run)?)));
    let kept = with_event.filter(|(_, event)| !event.transcript.is_empty() || !event.model_view.is_empty());
    let mut modes: Vec<&str> = Vec::new();
    let chosen: Vec<_> = kept
        .filter(|(run, _)| {
            let new = !modes.contains(&run.mode.as_str());
            modes.push(&run.mode);
            new
        })
        .take(RUNS_SHOWN_MAX)
        .collect();
    let bytes_max = room.of(cell.state) / chosen.len().max(1);
    for (run, event) in chosen {
        let prefix = format!("w{}{}", &id[1..], if runs.is_empty() { "" } else { "b" });
        let names = Names { prefix: &prefix, event_line: run.event_line };
        let view = view_rows(event, names, bytes_max / 3);
        let wire = wire_rows(event, names, bytes_max.saturating_sub(view.html.len()));
        runs.push(RunView { run, event, view, wire });
    }
    CellView { id, host: &report.hosts[column], cell, same, all, failures, runs }
}

fn told<'a>(failures: &[&'a Failure]) -> Vec<Told<'a>> {
    let replays = failures.iter().skip(1).map(|failure| Some(&failure.replay)).chain([None]);
    let both = failures.iter().zip(replays);
    both.map(|(failure, next)| Told { failure, with_replay: next != Some(&failure.replay) }).collect()
}

fn event_of<'a>(stream: &'a Stream, run: &Run) -> Option<&'a CellFinished> {
    stream.cells.get(run.event_line.checked_sub(Stream::line_of(0))?)
}

/// Bytes for the transcripts of each cell: what went wrong is told at length, the rest shares what remains.
struct Room {
    defect_bytes: usize,
    other_bytes: usize,
}

impl Room {
    fn new(report: &Report) -> Self {
        let cells: usize = report.rows().map(|row| row.cells.len()).sum();
        let defects = report.rows().flat_map(|row| &row.cells).filter(|cell| cell.state.is_defect()).count();
        let defect_bytes = (DEFECT_BYTES / defects.max(1)).min(DEFECT_CELL_BYTES_MAX);
        let rest = DETAIL_BYTES - defect_bytes * defects.min(DEFECT_BYTES);
        Self { defect_bytes, other_bytes: (rest / (cells - defects).max(1)).min(CELL_BYTES_MAX) }
    }

    fn of(&self, state: Status) -> usize {
        if state.is_defect() { self.defect_bytes } else { self.other_bytes }
    }
}
