//! The content of a report: rows, columns, sums, failures. It is a pure function of the stream. It must never
//! know the form of any report, nor hold data that only one of them shows (transcripts stay in the stream).

mod build;
mod deliveries;
mod failures;
mod hosts;
mod parity;
mod reach;
mod release;
mod runs;
mod ways;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::baseline::{Baseline, Gate};
pub use crate::counts::{Counts, supported};
use crate::diff;
use crate::event::{ColumnKind, HostFact, HostSupport, ServerUnderTest, Shard, Status};

use crate::history::{Release, Trend};
use crate::stream::Stream;
use crate::text::{counted, duration, thousands};

pub use deliveries::{BUCKET_STARTS_MS, Deliveries};
pub use reach::{Reach, Setting, Times};
pub use ways::{Reached, Way};

/// Version of `report.json`.
pub const REPORT_VERSION: u32 = 1;
/// Most runs that a cell lists; the rest is counted.
pub const RUNS_LISTED_MAX: usize = 8;
/// Most failures that a report lists; the rest is counted.
pub const FAILURES_MAX: usize = 500;
/// Most cells that are named for a reason; the rest is counted.
pub const REASON_CELLS_MAX: usize = 200;
/// Most differences between carriers that a report lists; the rest is counted.
pub const DIFFERENCES_MAX: usize = 50;

/// The whole report.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Report {
    /// [`REPORT_VERSION`].
    pub v: u32,
    /// Name and version of the harness.
    pub tool: String,
    /// The server that was judged.
    pub server: ServerUnderTest,
    /// The server's description of itself.
    pub server_facts: Vec<HostFact>,
    /// The command that repeats the run.
    pub command: String,
    /// First seed.
    pub seed: u64,
    /// Seeds per cell in sim mode.
    pub seeds: u64,
    /// The file to which all findings point, empty for none; nothing if each row has its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub findings_in: Option<String>,
    /// The part of a run that this is; nothing for all of it.
    pub shard: Option<Shard>,
    /// The verdict on the run.
    pub verdict: Verdict,
    /// Whether the run fails only by what must hold, each time that it was asked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub must_only: bool,
    /// As in the footer: 0 all passed, 1 a failure, 3 incomplete. With a baseline, by the gate.
    pub exit_code: i32,
    /// Simulated milliseconds over all sim cells.
    pub simulated_ms: u64,
    /// Sums over everything.
    pub totals: Totals,
    /// Columns, in the order of the run.
    pub hosts: Vec<Host>,
    /// Rows by area, in the order of the run.
    pub areas: Vec<Area>,
    /// The failures, worst first.
    pub failures: Vec<Failure>,
    /// Failures that are not listed.
    pub failures_left_out: u64,
    /// The reasons of cells that are neither a pass nor a defect: not run, known issues, unknown,
    /// unsupported, not applicable.
    pub reasons: Vec<Reason>,
    /// Requirements on which all hosts but one agree.
    pub one_host_differs: Vec<OneHostDiffers>,
    /// Whether all carriers showed the same characters.
    pub parity: Parity,
    /// Known features of hosts, beside the results.
    pub host_support: Option<HostSupport>,
    /// The comparison with a baseline.
    pub gate: Option<Gate>,
    /// The comparison with earlier releases.
    pub trend: Option<Trend>,
}

impl Report {
    /// The subject of the report, by its columns, and the part of the run.
    pub fn subject(&self) -> String {
        let subject = match self.kinds() {
            (true, false) => "Protocol conformance",
            (true, true) => "Conformance and host compatibility",
            (false, _) => "Host compatibility",
        };
        match self.shard {
            Some(Shard { index, of }) => format!("{subject}, part {index} of {of}"),
            None => subject.to_owned(),
        }
    }

    /// Compares the run with a baseline: verdict and exit code follow from the new and the stale entries.
    pub fn compare_with_baseline(&mut self, baseline: &Baseline, stream: &Stream) {
        let gate = baseline.judge(stream);
        let incomplete = self.totals.cells.get(&Status::NotRun).is_some_and(|&cells| cells > 0);
        (self.verdict, self.exit_code) = if !gate.is_open() {
            (Verdict::Failed, 1)
        } else if self.verdict == Verdict::Incomplete || incomplete {
            (Verdict::Incomplete, 3)
        } else {
            (Verdict::Passed, 0)
        };
        self.gate = Some(gate);
    }

    /// Compares the run with earlier releases.
    pub fn compare_with_history(&mut self, releases: &[Release]) {
        self.trend = Some(Trend::new(releases, &Release::new("this run", self)));
    }

    /// `3 protocol versions`, `16 hosts`, `4 columns`.
    pub fn columns(&self) -> String {
        let ColumnWords { one, many, .. } = self.column_words();
        counted(self.totals.hosts, one, many)
    }

    /// The extent of the run, like `12 runs, 3 d simulated`.
    pub fn runs(&self) -> String {
        let runs = counted(self.totals.runs, "run", "runs");
        match self.simulated_ms {
            0 => runs,
            simulated_ms => format!("{runs}, {} simulated", duration(simulated_ms)),
        }
    }

    /// The words for the columns of this report.
    pub fn column_words(&self) -> ColumnWords {
        match self.kinds() {
            (true, false) => ColumnWords::VERSIONS,
            (true, true) => ColumnWords::MIXED,
            (false, _) => ColumnWords::HOSTS,
        }
    }

    /// Whether there are columns of the protocol, and whether there are hosts.
    fn kinds(&self) -> (bool, bool) {
        let any = |kind| self.hosts.iter().any(|host| host.kind == kind);
        (any(ColumnKind::Protocol), any(ColumnKind::Host))
    }
}

/// The words for the columns of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnWords {
    /// Singular.
    pub one: &'static str,
    /// Plural.
    pub many: &'static str,
    /// Head of a table's column.
    pub title: &'static str,
    /// Heading.
    pub titles: &'static str,
}

impl ColumnWords {
    /// A run on hosts.
    pub const HOSTS: Self = Self { one: "host", many: "hosts", title: "Host", titles: "Hosts" };
    /// The words for versions of the protocol.
    pub const VERSIONS: Self = Self {
        one: "protocol version",
        many: "protocol versions",
        title: "Protocol version",
        titles: "Protocol versions",
    };
    /// The words for both.
    pub const MIXED: Self =
        Self { one: "column", many: "columns", title: "Column", titles: "Hosts and protocol versions" };
}

/// The verdict on a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Nothing failed and nothing is missing.
    Passed,
    /// Something failed.
    Failed,
    /// Nothing failed, but a selected cell has no result.
    Incomplete,
}

/// Sums over the matrix.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Totals {
    /// Rows.
    pub requirements: u64,
    /// Columns.
    pub hosts: u64,
    /// Results in the stream, each a cell with one mode and one seed.
    pub runs: u64,
    /// Merged cells by state.
    pub cells: Counts,
    /// Merged cells by level, then by state.
    pub levels: BTreeMap<String, Counts>,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Host {
    /// `claude-code@2.1.330`.
    pub id: String,
    /// `claude-code`.
    pub family: String,
    /// `2.1.330` or `seed`.
    pub version: String,
    /// Whether it is a host, or a version of the protocol.
    pub kind: ColumnKind,
    /// One sentence on the evidence for the profile.
    pub evidence: String,
    /// Facts of the profile.
    pub facts: Vec<HostFact>,
    /// Its cells by state.
    pub cells: Counts,
    /// Its cells by level, then by state.
    pub levels: BTreeMap<String, Counts>,
    /// Delivery times by mode: virtual and real time are never mixed.
    pub deliveries: Vec<Deliveries>,
    /// Carriers of messages, most used first.
    pub carriers: Vec<Carrier>,
    /// The carriers that reached its idle and its busy model.
    pub reach: Vec<Reach>,
    /// The facts of its sessions.
    pub session: Vec<SessionFact>,
}

/// A carrier of messages to a host's model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Carrier {
    /// Its name.
    pub name: String,
    /// Messages that it brought, over all runs.
    pub messages: u64,
    /// How often it woke an idle session, in the runs with a stored model view.
    pub woke: u64,
    /// 95th percentile of its times in sim mode, only from runs in which it was the only carrier.
    pub p95_ms: Option<u64>,
}

/// A fact of sessions and its values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SessionFact {
    /// Its name.
    pub name: String,
    /// Values and how many runs had them, most frequent first, at most four.
    pub values: Vec<SessionValue>,
    /// Number of further values.
    pub values_left_out: u64,
}

/// One value of a fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SessionValue {
    /// The value.
    pub value: String,
    /// Number of runs with it.
    pub runs: u64,
}

/// A group of rows.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Area {
    /// Its name.
    pub name: String,
    /// Its rows.
    pub rows: Vec<Row>,
}

/// A requirement.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    /// `delivery.dm-within-ten-seconds`.
    pub id: String,
    /// The requirement in one line.
    pub title: String,
    /// `must`, `should` or `may`.
    pub level: String,
    /// The requirement in a sentence.
    pub says: String,
    /// The source of the requirement.
    pub source: String,
    /// The scenario file, relative to the repository.
    pub file: String,
    /// One cell for each host, in column order.
    pub cells: Vec<Cell>,
}

/// A requirement on a host, over all modes and seeds.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Cell {
    /// The column.
    pub host: String,
    /// The worst state of its runs; `not-run` if there is none.
    pub state: Status,
    /// The reason of every state but `pass`.
    pub reason: Option<String>,
    /// All its runs by mode, then by state.
    pub runs: BTreeMap<String, Counts>,
    /// The runs to look at: the worst first, and one for each mode and state.
    pub listed: Vec<Run>,
    /// Runs that are not listed.
    pub runs_left_out: u64,
}

impl Cell {
    /// The number of runs, and of those with the state of the cell.
    pub fn share(&self) -> (u64, u64) {
        let total = self.runs.values().flat_map(BTreeMap::values).sum();
        let same = self.runs.values().filter_map(|counts| counts.get(&self.state)).sum();
        (same, total)
    }
}

/// One run of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Run {
    /// `sim` or `process`.
    pub mode: String,
    /// The seed; 0 in process mode.
    pub seed: u64,
    /// The result.
    pub state: Status,
    /// The reason of every state but `pass`.
    pub reason: Option<String>,
    /// Virtual or real milliseconds, by mode.
    pub elapsed_ms: u64,
    /// The command that repeats it.
    pub replay: String,
    /// Its line in `events.jsonl`.
    pub event_line: usize,
}

/// A failure, once for all seeds that fail in the same way.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Failure {
    /// The row.
    pub scenario: String,
    /// The column.
    pub host: String,
    /// `sim` or `process`.
    pub mode: String,
    /// The first seed.
    pub seed: u64,
    /// The state of that run.
    pub state: Status,
    /// The rule or expectation that was broken.
    pub rule: String,
    /// The fault, in a sentence.
    pub message: String,
    /// Milliseconds since the start of the cell.
    pub at_ms: u64,
    /// The step at fault, from 1.
    pub step: Option<u32>,
    /// `file` or `file:line` of the scenario.
    pub place: String,
    /// Expected against observed; empty if the failure has no texts.
    pub diff: Vec<diff::Line>,
    /// The command that repeats it.
    pub replay: String,
    /// How often it happened in all, including the first time.
    pub times: u64,
    /// The number of runs in which it happened.
    pub runs: u64,
}

impl Failure {
    /// The step, the time and the runs, as they follow the place: `, step 3, after 9.50 s, in 2 runs`. A time that was not
    /// measured is left out.
    pub(crate) fn when(&self) -> String {
        let step = self.step.map_or_else(String::new, |step| format!(", step {step}"));
        let runs = if self.runs > 1 { format!(", in {} runs", thousands(self.runs)) } else { String::new() };
        let after = if self.at_ms > 0 { format!(", after {}", duration(self.at_ms)) } else { String::new() };
        format!("{step}{after}{runs}")
    }
}

/// Cells with the same state and reason.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Reason {
    /// The state.
    pub state: Status,
    /// The reason.
    pub reason: String,
    /// The cells, in the order of the matrix.
    pub cells: Vec<CellName>,
    /// Cells that are not listed.
    pub cells_left_out: u64,
}

/// A place in the matrix.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct CellName {
    /// The row.
    pub scenario: String,
    /// The column.
    pub host: String,
}

/// A requirement on which all hosts but one agree.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OneHostDiffers {
    /// The row.
    pub scenario: String,
    /// The host that differs.
    pub host: String,
    /// Its state.
    pub state: Status,
    /// The state of all others.
    pub others: Status,
}

/// Whether messages that several carriers brought had the same characters each time.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Parity {
    /// Messages that could be compared, because a run showed them more than once.
    pub messages: u64,
    /// Messages with the same characters each time.
    pub equal: u64,
    /// The differences of the others.
    pub differences: Vec<Difference>,
    /// Differences that are not listed.
    pub differences_left_out: u64,
}

/// One message with two texts.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    /// The row.
    pub scenario: String,
    /// The column.
    pub host: String,
    /// `sim` or `process`.
    pub mode: String,
    /// The seed.
    pub seed: u64,
    /// The message's id, as its carriers give it.
    pub message_id: String,
    /// The text that was shown first.
    pub first: Shown,
    /// The text that was shown later.
    pub second: Shown,
}

/// A text and the carrier that showed it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Shown {
    /// The carrier, with the tool if there is one.
    pub carrier: String,
    /// The text, with the words marked that the other lacks.
    pub pieces: Vec<diff::Piece>,
    /// Bytes beyond the limit of the comparison.
    pub left_out_bytes: usize,
}
