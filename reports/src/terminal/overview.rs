//! The first screen of a run of scenarios: the carriers that reach each host and their times, the sums by
//! area, the failures, the verdict. It must never be longer than a screen, however many cells the run has.

use std::collections::BTreeMap;

use unicode_width::UnicodeWidthStr as _;

use super::{Page, Style, fit, one_line};
use crate::counts::{defects, supported};
use crate::event::Status;
use crate::model::{Area, Report, Way};
use crate::text::{counted, duration};

/// Carriers that are named for a host's idle or busy model.
const CARRIERS_MAX: usize = 2;
/// Failures that are printed whole.
const FAILURES_MAX: usize = 2;
/// Further scenarios with failures that are named.
const SCENARIOS_MAX: usize = 6;
/// Families of hosts that are listed.
const FAMILIES_MAX: usize = 12;
/// Columns of a host's name.
const HOST_COLUMNS: usize = 24;
/// Columns of the carriers to an idle model.
const IDLE_COLUMNS: usize = 44;

/// The report as one screen of text.
pub fn overview(report: &Report, style: Style) -> String {
    let mut page = Page { text: String::new(), style };
    page.carriers(report);
    page.areas(report);
    page.first_failures(report);
    page.totals(report);
    page.text
}

impl Page {
    fn carriers(&mut self, report: &Report) {
        let rows = report.reached();
        if rows.is_empty() {
            return;
        }
        let head = format!(
            "{}{}the busy model is reached by",
            fit("host", HOST_COLUMNS),
            fit("the idle model is reached by", IDLE_COLUMNS)
        );
        self.line(&self.bold(&head));
        for host in rows.iter().take(FAMILIES_MAX) {
            let (idle, busy) = (said(&host.idle, IDLE_COLUMNS - 1), said(&host.busy, usize::MAX));
            let (id, idle) = (fit(host.id, HOST_COLUMNS - 1), fit(&idle, IDLE_COLUMNS - 1));
            self.line(&format!("{id} {idle} {busy}"));
        }
        self.line(&self.dim("medians of virtual time, with all troubles that the scenarios make"));
        self.line("");
    }

    fn areas(&mut self, report: &Report) {
        let words: Vec<_> = report.areas.iter().filter_map(sum).collect();
        self.wrapped(&words.join(" · "), 0);
        self.line("");
    }

    fn first_failures(&mut self, report: &Report) {
        let mut others: BTreeMap<&str, u64> = BTreeMap::new();
        for failure in report.failures.iter().skip(FAILURES_MAX) {
            *others.entry(&failure.scenario).or_default() += 1;
        }
        for failure in report.failures.iter().take(FAILURES_MAX) {
            self.failure(failure);
        }
        for (scenario, failures) in others.iter().take(SCENARIOS_MAX) {
            let failed = self.state(Status::Fail, &Status::Fail.label());
            self.line(&format!("{failed}  {}  {}", one_line(scenario), counted(*failures, "time", "times")));
        }
        let named: u64 = others.values().take(SCENARIOS_MAX).sum();
        let shown = report.failures.len().min(FAILURES_MAX) as u64 + named;
        let more = (report.failures.len() as u64 + report.failures_left_out).saturating_sub(shown);
        if more > 0 {
            self.line(&format!(
                "{} left out here; report.html has more",
                counted(more, "failure", "failures")
            ));
        }
        if !others.is_empty() {
            self.line("");
        }
    }
}

/// The quickest carriers with their medians, as many as these columns have room for; a dash where there is none.
fn said(ways: &[Way<'_>], columns: usize) -> String {
    let mut said = String::new();
    for way in ways.iter().take(CARRIERS_MAX) {
        let words = format!("{} {}", one_line(way.carrier), duration(way.times.p50_ms));
        if said.is_empty() {
            said = words;
        } else if said.width() + ", ".len() + words.width() <= columns {
            said = format!("{said}, {words}");
        } else {
            // A carrier without its time says little.
            said.push_str(", …");
            break;
        }
    }
    if said.is_empty() { "–".to_owned() } else { said }
}

/// `auth 62/62`: the cells that pass of those that say something about the server; `None` where none does.
fn sum(area: &Area) -> Option<String> {
    let mut counts = crate::counts::no_counts();
    for cell in area.rows.iter().flat_map(|row| &row.cells) {
        crate::counts::count(&mut counts, cell.state);
    }
    let (all, failed) = (supported(&counts), defects(&counts));
    let sum = format!("{} {}/{all}", one_line(&area.name), counts[&Status::Pass]);
    (all > 0).then(|| if failed > 0 { format!("{sum} ({failed} failed)") } else { sum })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Times;

    #[test]
    fn no_time_of_a_carrier_is_cut_off() {
        let way = |carrier, p50_ms| {
            let times = Times { messages: 1, p50_ms, p99_ms: p50_ms };
            Way { carrier, times, set_up: &[] }
        };
        let ways =
            [way("wake_up", 6_090), way("wait_for_inbound_message", 10_300), way("inbox_pull", 24_600)];
        let both = "wake_up 6.09 s, wait_for_inbound_message 10.30 s";
        assert_eq!(said(&ways, both.len()), both);
        assert_eq!(said(&ways, both.len() - 1), "wake_up 6.09 s, …");
        assert_eq!(said(&ways[..1], 1), "wake_up 6.09 s");
        assert_eq!(said(&[], 1), "–");
    }
}
