//! The data of the template. It only arranges: every number comes from the model, every text goes through
//! `markup`.

use std::collections::BTreeMap;

use askama::Template;

use super::cells::{self, AreaView, Told, told};
use super::families::{self, Family};
use super::inside::{SCRIPT, STYLE, events_link, policy};
use super::markup::Markup;
use super::say;
use crate::counts::defects;
use crate::event::Status;
use crate::model::{Deliveries, Failure, Host, Reach, Reached, Report, Row, Verdict};
use crate::stream::Stream;
use crate::text::{counted, thousands};

/// Most columns with which each cell shows a word beside its symbol; with more, only screen readers get the
/// word.
const WORDS_COLUMNS_MAX: usize = 7;

/// Most checks of each kind that are listed beside a baseline.
const LISTED_MAX: usize = 100;
/// Most bytes of text that all failures take, approximately.
const FAILURES_BYTES_MAX: usize = 250_000;
/// Bytes of a failure besides its own texts.
const FAILURE_BYTES: usize = 700;

#[derive(Template)]
#[template(path = "report.html", whitespace = "minimize")]
pub(super) struct Page<'a> {
    report: &'a Report,
    policy: String,
    style: Markup,
    script: Markup,
    areas: Vec<AreaView<'a>>,
    failures: Vec<FailureView<'a>>,
    failures_left_out: u64,
    families: Vec<Family<'a>>,
    events: Option<Markup>,
}

/// The first failures, as many as fit on the page.
fn failures_shown(report: &Report) -> &[Failure] {
    let mut bytes = 0;
    let fits = |failure: &&Failure| {
        let pieces = failure.diff.iter().flat_map(|line| &line.pieces);
        bytes += FAILURE_BYTES + failure.message.len() + pieces.map(|piece| piece.text.len()).sum::<usize>();
        bytes <= FAILURES_BYTES_MAX
    };
    // The first is shown whatever its size, which `diff` limits.
    let shown = report.failures.iter().take_while(fits).count().max(1);
    &report.failures[..shown.min(report.failures.len())]
}

/// A failure of one cell.
struct FailureView<'a> {
    /// The id of its element; a cell in a fold needs none, because no link leads to it.
    card: Option<String>,
    state: Status,
    host: &'a str,
    title: &'a str,
    cell_id: String,
    failures: Vec<Told<'a>>,
}

impl<'a> Page<'a> {
    /// The page, with at most about `detail_bytes` of transcripts.
    pub(super) fn new(report: &'a Report, stream: &'a Stream, detail_bytes: usize) -> Self {
        let own = |html: &str| {
            let mut markup = Markup::default();
            markup.push_html(html);
            markup
        };
        let (style, script) = (own(STYLE), own(SCRIPT));
        let shown = failures_shown(report);
        let areas = cells::areas(report, stream, shown, detail_bytes);
        let ids: BTreeMap<(&str, &str), (&str, &str)> = areas
            .iter()
            .flat_map(|area| &area.rows)
            .flat_map(|row| row.cells.iter().map(move |cell| (row, cell)))
            .map(|(row, cell)| {
                let place = (row.row.id.as_str(), cell.cell.host.as_str());
                (place, (cell.anchor.as_str(), row.row.title.as_str()))
            })
            .collect();
        let by_cell = shown.chunk_by(|a, b| (&a.scenario, &a.host) == (&b.scenario, &b.host));
        let failures = by_cell.filter_map(|failures| {
            let first = failures.first()?;
            let (id, title) = *ids.get(&(first.scenario.as_str(), first.host.as_str()))?;
            let (state, host, cell_id) = (first.state, first.host.as_str(), id.to_owned());
            Some(FailureView {
                card: id.strip_prefix('c').map(|place| format!("f{place}")),
                state,
                host,
                title,
                cell_id,
                failures: told(&failures.iter().collect::<Vec<_>>()),
            })
        });
        let failures = failures.collect();
        let left_out = (report.failures.len() - shown.len()) as u64 + report.failures_left_out;
        let families = families::of(report);
        Self {
            report,
            policy: policy(),
            style,
            script,
            areas,
            failures,
            failures_left_out: left_out,
            families,
            events: events_link(stream),
        }
    }

    // The template calls the following functions, and all of `say`.

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

    /// The text after the headline.
    fn outcome(&self) -> String {
        let cells = &self.report.totals.cells;
        let all: u64 = cells.values().sum();
        match self.report.verdict {
            Verdict::Passed if cells[&Status::Pass] == all => "all green".to_owned(),
            Verdict::Passed => "nothing fails".to_owned(),
            Verdict::Failed => {
                format!("{} of {} cells went wrong", thousands(defects(cells)), thousands(all))
            }
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

    /// Whether a word in every cell would make the matrix wider than a screen.
    fn is_dense(&self) -> bool {
        self.report.hosts.len() > WORDS_COLUMNS_MAX
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

    fn reached(&self) -> Vec<Reached<'_>> {
        self.report.reached()
    }

    /// The carriers that reached each host's model; the host is named in its first row only.
    fn reach(&self) -> Vec<(Option<&str>, &Reach)> {
        let rows = |host: &'a Host| {
            host.reach
                .iter()
                .enumerate()
                .map(move |(place, reach)| ((place == 0).then_some(host.id.as_str()), reach))
        };
        self.report.hosts.iter().flat_map(rows).collect()
    }

    /// Carriers of all hosts, most messages first, with each host's part.
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
