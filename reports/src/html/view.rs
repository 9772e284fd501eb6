//! What the template is filled with. Only arranges: every number is the model's, every text goes through `markup`.

use std::collections::BTreeMap;

use askama::Template;

use super::markup::{self, Markup};
use super::transcript::{Names, Rows, view_rows, wire_rows};
use super::{SCRIPT, STYLE, events_link, policy};
use crate::event::{CellFinished, Status};
use crate::model::{
    Area, BUCKET_STARTS_MS, Cell, Deliveries, Failure, Host, Report, Row, Run,
    Verdict,
};
use crate::stream::Stream;
use crate::text::{counted, duration, moment, thousands};

/// Bytes of a name, a reason or a fact on the page.
const LINE_BYTES_MAX: usize = 2_000;
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
/// Pixels of one bucket in a latency strip.
const BUCKET_PX: usize = 13;

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
    failures: Vec<&'a Failure>,
    runs: Vec<RunView<'a>>,
}

/// A run with its transcript.
struct RunView<'a> {
    run: &'a Run,
    event: &'a CellFinished,
    view: Rows,
    wire: Rows,
}

/// A failure and the cell that it is in.
struct FailureView<'a> {
    failure: &'a Failure,
    cell_id: String,
    title: &'a str,
}

/// One box of a latency strip.
struct Bucket {
    x: usize,
    opacity: String,
    label: String,
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
        let failures = report.failures.iter().filter_map(|failure| {
            let (id, title) = *ids.get(&(failure.scenario.as_str(), failure.host.as_str()))?;
            Some(FailureView { failure, cell_id: id.to_owned(), title })
        });
        let failures = failures.collect();
        Self { report, policy: policy(), style, script, areas, failures, events: events_link(stream) }
    }

    // What follows is called by the template.

    fn line(&self, text: &str) -> Markup {
        Markup::short(text, LINE_BYTES_MAX)
    }

    fn diff(&self, failure: &Failure) -> Markup {
        markup::diff(&failure.diff)
    }

    fn pieces(&self, shown: &crate::model::Shown) -> Markup {
        let mut markup = markup::pieces(&shown.pieces);
        markup.note_left_out(shown.left_out_bytes);
        markup
    }

    fn duration(&self, ms: &u64) -> String {
        duration(*ms)
    }

    fn moment(&self, ms: &u64) -> String {
        moment(*ms)
    }

    fn number(&self, number: &u64) -> String {
        thousands(*number)
    }

    fn size(&self, number: &usize) -> String {
        thousands(*number as u64)
    }

    fn runs(&self, number: &u64) -> String {
        counted(*number, "run", "runs")
    }

    fn verdict_state(&self) -> Status {
        match self.report.verdict {
            Verdict::Passed => Status::Pass,
            Verdict::Failed => Status::Fail,
            Verdict::Incomplete => Status::NotRun,
        }
    }

    fn headline(&self) -> String {
        let totals = &self.report.totals;
        format!(
            "{} × {}",
            counted(totals.requirements, "requirement", "requirements"),
            counted(totals.hosts, "host", "hosts")
        )
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

    fn all_states(&self) -> [Status; 7] {
        Status::ALL
    }

    /// `20 of 21 must`, for a column's head.
    fn must(&self, host: &Host) -> Option<String> {
        let counts = host.levels.get("must")?;
        Some(format!("{}/{} must", counts[&Status::Pass], counts.values().sum::<u64>()))
    }

    fn levels(&self) -> Vec<&str> {
        self.report.levels().into_iter().map(|(level, _)| level).collect()
    }

    fn level_number(&self, row: &Row) -> usize {
        self.levels().iter().position(|&level| level == row.level).unwrap_or(0)
    }

    fn times(&self) -> Vec<(&Host, &Deliveries)> {
        self.report.hosts.iter().flat_map(|host| host.deliveries.iter().map(move |times| (host, times))).collect()
    }

    fn buckets(&self, times: &Deliveries) -> Vec<Bucket> {
        let most = times.buckets.iter().copied().max().unwrap_or(0).max(1);
        let boxes = times.buckets.iter().enumerate().filter(|&(_, &messages)| messages > 0);
        boxes
            .map(|(index, &messages)| {
                // A logarithm keeps a single straggler visible beside a thousand quick ones.
                let bits = |number: u64| u64::from(number.ilog2()) + 1;
                let weight = 25 + 75 * bits(messages) / bits(most);
                let start = duration(BUCKET_STARTS_MS[index]);
                let range = match BUCKET_STARTS_MS.get(index + 1) {
                    Some(&end) => format!("{start} to {}", duration(end)),
                    None => format!("{start} or more"),
                };
                Bucket {
                    x: index * BUCKET_PX,
                    opacity: format!("{}.{:02}", weight / 100, weight % 100),
                    label: format!("{range}: {}", counted(messages, "message", "messages")),
                }
            })
            .collect()
    }

    /// Marks under the strips: position and words.
    fn ticks(&self) -> Vec<(usize, String)> {
        let marks = [1, 10, 100, 1_000, 10_000, 100_000];
        let index = |mark: u64| BUCKET_STARTS_MS.iter().position(|&start| start == mark);
        let words = |mark: u64| if mark < 1_000 { format!("{mark} ms") } else { format!("{} s", mark / 1_000) };
        marks.into_iter().filter_map(|mark| Some((index(mark)? * BUCKET_PX, words(mark)))).collect()
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
                        cell_view(report, stream, row, cell, column, format!("c{number}-{}", column + 1), &room)
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
    let failures = report.failures.iter().filter(of_cell).collect();
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
