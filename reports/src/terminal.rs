//! The report for a terminal: a compact matrix, the tables, then the failures, the replay commands and the
//! sums at the end, because many logs keep only the end. It is clear without colour, and never lets a text
//! from an event move the cursor.

mod overview;

use anstyle::{AnsiColor, Style as Ansi};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

pub use overview::overview;

use crate::diff::Side;
use crate::event::Status;
use crate::model::{Cell, ColumnWords, Failure, Host, Report, Times, Verdict, supported};
use crate::text::{counted, duration, short_line, thousands, visible_line};

/// The properties of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Whether colours may be used.
    pub colour: bool,
    /// Columns of the terminal.
    pub width: usize,
}

impl Default for Style {
    fn default() -> Self {
        Self { colour: false, width: 100 }
    }
}

/// Columns of a cell with the longest short word.
const CELL_COLUMNS: usize = 14;
/// Fewest columns of a requirement's name.
const NAME_COLUMNS_MIN: usize = 30;
/// Most columns of a requirement's name.
const NAME_COLUMNS_MAX: usize = 56;
/// Narrowest matrix in columns; a narrower terminal wraps it.
const WIDTH_MIN: usize = 60;
/// Most failures that are printed.
const FAILURES_MAX: usize = 30;
/// Most lines of a difference that are printed.
const DIFF_LINES_MAX: usize = 24;
/// Most bytes of one line of a difference, a message or a reason.
const LINE_BYTES_MAX: usize = 600;
/// Most checks that are printed of the new and of the stale ones.
const CHECKS_MAX: usize = 12;
/// Most reasons that are printed.
const REASONS_MAX: usize = 12;

/// The whole report as text.
pub fn terminal(report: &Report, style: Style) -> String {
    let mut page = Page { text: String::new(), style };
    page.matrix(report);
    page.legend(report);
    page.deliveries(report);
    page.reach(report);
    page.reasons(report);
    page.failures(report);
    page.totals(report);
    page.text
}

struct Page {
    text: String,
    style: Style,
}

impl Page {
    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn paint(&self, ansi: Ansi, text: &str) -> String {
        if self.style.colour { format!("{ansi}{text}{ansi:#}") } else { text.to_owned() }
    }

    fn bold(&self, text: &str) -> String {
        self.paint(Ansi::new().bold(), text)
    }

    fn dim(&self, text: &str) -> String {
        self.paint(Ansi::new().dimmed(), text)
    }

    fn state(&self, state: Status, text: &str) -> String {
        self.paint(state_style(state), text)
    }

    fn matrix(&mut self, report: &Report) {
        let width = self.style.width.max(WIDTH_MIN);
        let longest = report.rows().map(|row| visible_line(&row.id).width()).max().unwrap_or(0);
        let name_columns = (longest + 3).clamp(NAME_COLUMNS_MIN, NAME_COLUMNS_MAX);
        let per_block = (width.saturating_sub(name_columns) / CELL_COLUMNS).max(1);
        // With a few columns too many, the names are shortened before a second table is used.
        let fits_short = (width - NAME_COLUMNS_MIN) / CELL_COLUMNS >= report.hosts.len();
        let (name_columns, per_block) = if fits_short {
            let room = width - report.hosts.len() * CELL_COLUMNS;
            (name_columns.min(room), report.hosts.len().max(1))
        } else {
            (name_columns, per_block)
        };
        let blocks = report.hosts.len().div_ceil(per_block);
        for (block, hosts) in report.hosts.chunks(per_block).enumerate() {
            if blocks > 1 {
                let title = format!("{} {} of {blocks}", report.column_words().many, block + 1);
                self.line(&self.dim(&title));
            }
            self.block(report, hosts, block * per_block, name_columns);
        }
    }

    fn block(&mut self, report: &Report, hosts: &[Host], first: usize, name_columns: usize) {
        for part in [|host: &Host| host.family.clone(), |host: &Host| host.version.clone()] {
            let mut line = " ".repeat(name_columns);
            for host in hosts {
                line.push_str(&fit(&part(host), CELL_COLUMNS - 1));
                line.push(' ');
            }
            self.line(&self.bold(line.trim_end()));
        }
        for area in &report.areas {
            self.line(&self.bold(&fit(&area.name, name_columns)));
            for row in &area.rows {
                let mut line = format!("  {}", fit(&row.id, name_columns - 3));
                line.push(' ');
                for cell in &row.cells[first..first + hosts.len()] {
                    line.push_str(&self.state(cell.state, &fit(&cell_text(cell), CELL_COLUMNS - 1)));
                    line.push(' ');
                }
                self.line(&line);
            }
        }
        self.line("");
    }

    fn legend(&mut self, report: &Report) {
        let there = Status::ALL.into_iter().filter(|state| report.totals.cells[state] > 0);
        let words = there.map(|state| {
            let name = format!("{} {}", state.symbol(), short(state));
            let meaning = if short(state) == state.word() {
                state.meaning().to_owned()
            } else {
                format!("{}: {}", state.word(), state.meaning())
            };
            format!("  {}  {}", self.state(state, &fit(&name, CELL_COLUMNS)), self.dim(&meaning))
        });
        let words: Vec<_> = words.collect();
        for line in &words {
            self.line(line);
        }
        let partial = report.rows().flat_map(|row| &row.cells).any(|cell| {
            let (same, all) = cell.share();
            same < all
        });
        if partial {
            let line = self.dim("  n/m: in n of m runs of the cell; a cell shows its worst run");
            self.line(&line);
        }
        self.line("");
    }

    fn failures(&mut self, report: &Report) {
        for failure in report.failures.iter().take(FAILURES_MAX) {
            self.failure(failure);
        }
        let all = report.failures.len() as u64 + report.failures_left_out;
        let more = all.saturating_sub(FAILURES_MAX as u64);
        if more > 0 {
            let line =
                format!("{} left out here; report.html has more", counted(more, "failure", "failures"));
            self.line(&line);
            self.line("");
        }
    }

    fn failure(&mut self, failure: &Failure) {
        let [scenario, host, mode] =
            [&failure.scenario, &failure.host, &failure.mode].map(|name| one_line(name));
        let (state, scenario) = (self.state(failure.state, &failure.state.label()), self.bold(&scenario));
        self.line(&format!("{state}  {scenario}  on {host}  ({mode}, seed {})", failure.seed));
        self.wrapped(&format!("{}: {}", one_line(&failure.rule), one_line(&failure.message)), 2);
        self.line(&self.dim(&format!("  at {}{}", one_line(&failure.place), failure.when())));
        if !failure.diff.is_empty() {
            self.line(&self.dim("    - expected  + observed"));
        }
        for line in failure.diff.iter().take(DIFF_LINES_MAX) {
            let ansi = match line.side {
                Side::Expected => Ansi::new().fg_color(Some(AnsiColor::Red.into())),
                Side::Observed => Ansi::new().fg_color(Some(AnsiColor::Green.into())),
                Side::Both | Side::LeftOut => Ansi::new().dimmed(),
            };
            let text = format!("    {} {}", line.side.sign(), one_line(&line.text()));
            self.line(&self.paint(ansi, &text));
        }
        if failure.diff.len() > DIFF_LINES_MAX {
            let left_out = failure.diff.len() - DIFF_LINES_MAX;
            self.line(&format!("    … {left_out} more lines left out; report.html has them"));
        }
        // The command is never cut, because it is to be copied.
        self.line(&format!("  replay: {}", visible_line(&failure.replay)));
        self.line("");
    }

    fn wrapped(&mut self, text: &str, indent: usize) {
        let room = self.style.width.max(WIDTH_MIN) - indent;
        let mut line = String::new();
        for word in text.split(' ') {
            if !line.is_empty() && line.width() + 1 + word.width() > room {
                self.line(&format!("{}{line}", " ".repeat(indent)));
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        self.line(&format!("{}{line}", " ".repeat(indent)));
    }

    fn reasons(&mut self, report: &Report) {
        for reason in report.reasons.iter().take(REASONS_MAX) {
            let cells = counted(reason.cells.len() as u64 + reason.cells_left_out, "cell", "cells");
            let state = self.state(reason.state, &reason.state.label());
            self.line(&format!("{state} {cells}: {}", one_line(&reason.reason)));
        }
        if report.reasons.len() > REASONS_MAX {
            self.line(&format!("… {} more reasons left out", report.reasons.len() - REASONS_MAX));
        }
        if !report.reasons.is_empty() {
            self.line("");
        }
    }

    fn deliveries(&mut self, report: &Report) {
        let mut any = false;
        for host in &report.hosts {
            for times in &host.deliveries {
                if !any {
                    let head =
                        ["messages", "p50", "p95", "p99", "max"].map(|word| format!("{word:>11}")).concat();
                    self.line(&self.dim(&format!("{}{head}", fit("delivery", 34))));
                }
                any = true;
                let numbers = [times.p50_ms, times.p95_ms, times.p99_ms, times.max_ms];
                let numbers = numbers.map(|ms| format!("{:>11}", duration(ms))).concat();
                let name = format!("{} {} ", fit(&host.id, 24), fit(&times.mode, 8));
                self.line(&format!("{name}{:>11}{numbers}", thousands(times.messages)));
            }
        }
        let parity = &report.parity;
        if parity.messages > 0 {
            any = true;
            let line = format!(
                "same characters by every carrier: {} of {}",
                parity.equal,
                counted(parity.messages, "message", "messages"),
            );
            self.line(&line);
        }
        if any {
            self.line("");
        }
    }

    fn reach(&mut self, report: &Report) {
        let mut any = false;
        for host in &report.hosts {
            for reach in &host.reach {
                if !any {
                    let head = ["idle p99", "busy p99"].map(|word| format!("{word:>12}")).concat();
                    self.line(&self.dim(&format!("{}{head}  set up", fit("reached the model by", 47))));
                }
                any = true;
                let time =
                    |times: Option<Times>| times.map_or_else(|| "–".to_owned(), |t| duration(t.p99_ms));
                let times = [time(reach.idle), time(reach.busy)].map(|time| format!("{time:>12}")).concat();
                let set: Vec<&str> = reach.set_up.iter().map(|set| set.name.as_str()).collect();
                let set = if set.is_empty() { "nothing".to_owned() } else { one_line(&set.join(", ")) };
                let name = [fit(&host.id, 20), fit(&reach.mode, 7), fit(&reach.carrier, 18)].join(" ");
                self.line(&format!("{name}{times}  {}", fit(&set, 24).trim_end()));
            }
        }
        if any {
            self.line("");
        }
    }

    fn totals(&mut self, report: &Report) {
        let totals = &report.totals;
        let (state, word) = match report.verdict {
            // A person who reads "passed" and a number of failures in one line wonders which of them counts.
            Verdict::Passed if Status::ALL.into_iter().any(|s| s.is_defect() && totals.cells[&s] > 0) => {
                (Status::Pass, "passed in all that counts")
            }
            Verdict::Passed => (Status::Pass, "passed"),
            Verdict::Failed => (Status::Fail, "failed"),
            Verdict::Incomplete => (Status::NotRun, "incomplete"),
        };
        let there = Status::ALL.into_iter().filter(|state| totals.cells[state] > 0);
        let states: Vec<_> =
            there.map(|state| format!("{} {}", totals.cells[&state], state.word())).collect();
        let verdict = self.state(state, &format!("{} {word}", state.symbol()));
        let rows = counted(totals.requirements, "requirement", "requirements");
        self.line(&format!("{verdict}  {rows} × {}: {}", report.columns(), states.join(", ")));
        let levels = report.levels();
        let levels = levels.iter().map(|&(level, counts)| {
            format!("{} {}/{}", one_line(level), counts[&Status::Pass], supported(counts))
        });
        let levels = levels.collect::<Vec<_>>().join(", ");
        let of = if report.column_words() == ColumnWords::HOSTS {
            "of what the host supports"
        } else {
            "of what applies"
        };
        self.line(&format!("  passing by level, {of}: {levels}"));
        self.line(&format!("  {}", report.runs()));
        self.changes(report);
    }

    /// The new and stale checks beside the baseline, and the changes since the last release.
    fn changes(&mut self, report: &Report) {
        if let Some(gate) = &report.gate {
            let (new, stale, known) = (gate.new.len(), gate.stale.len(), gate.known.len());
            self.line(&format!("  baseline: {new} new, {stale} stale, {known} known"));
            for check in gate.new.iter().take(CHECKS_MAX) {
                let name = one_line(&check.name());
                self.line(&format!("    {} {name}", self.state(Status::Fail, "new")));
            }
            for entry in gate.stale.iter().take(CHECKS_MAX) {
                let name = one_line(&entry.check().name());
                self.line(&format!("    {} {name}", self.state(Status::Flaky, "stale")));
            }
            if stale > 0 {
                self.line("    stale checks pass: remove them with `hostcheck baseline update`");
            }
        }
        if let Some(trend) = &report.trend
            && let Some(last) = trend.releases.last()
        {
            let changed = trend.changes.len() as u64 + trend.changes_left_out;
            let changed = counted(changed, "cell", "cells");
            self.line(&format!("  since release {}: {changed} changed", one_line(&last.name)));
        }
    }
}

/// The word of a state in a narrow column.
fn short(state: Status) -> &'static str {
    if state == Status::NotApplicable { "n/a" } else { state.word() }
}

fn state_style(state: Status) -> Ansi {
    let colour = match state {
        Status::Pass => AnsiColor::Green,
        Status::Fail => AnsiColor::Red,
        Status::Error => AnsiColor::Magenta,
        Status::Flaky | Status::NotRun => AnsiColor::Yellow,
        Status::KnownIssue => AnsiColor::Cyan,
        Status::Unsupported | Status::NotApplicable | Status::Unknown => return Ansi::new().dimmed(),
    };
    let style = Ansi::new().fg_color(Some(colour.into()));
    if state.is_defect() { style.bold() } else { style }
}

/// Symbol and word, with the share of runs if it is not all of them and there is room.
fn cell_text(cell: &Cell) -> String {
    let name = format!("{} {}", cell.state.symbol(), short(cell.state));
    let (same, all) = cell.share();
    let with_share = format!("{name} {same}/{all}");
    if same < all && with_share.width() < CELL_COLUMNS { with_share } else { name }
}

fn one_line(text: &str) -> String {
    short_line(text, LINE_BYTES_MAX)
}

/// A text of exactly `columns` columns: padded, or cut with an ellipsis.
fn fit(text: &str, columns: usize) -> String {
    let text = visible_line(text);
    let width = text.width();
    if width <= columns {
        return format!("{text}{}", " ".repeat(columns - width));
    }
    let mut cut = String::new();
    let mut used = 0;
    for character in text.chars() {
        let wide = character.width().unwrap_or(0);
        if used + wide + 1 > columns {
            break;
        }
        used += wide;
        cut.push(character);
    }
    cut.push('…');
    cut.push_str(&" ".repeat(columns.saturating_sub(used + 1)));
    cut
}
