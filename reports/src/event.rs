//! The event stream, from which alone reports are made.
//!
//! A run is a JSONL file: one `run_started`, any number of `cell_finished`, one `run_finished`. A stream without
//! its last line, with a cell twice, or with a cell of an unknown host is an invalid report, not a failed run.
//! Old readers must be able to skip new optional members; a changed meaning needs a new `v`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Version of this format.
pub const EVENTS_VERSION: u32 = 1;
/// The level of what must hold.
const MUST: &str = "must";
/// The mode whose time is virtual.
pub const SIM: &str = "sim";

/// One line of the stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// First line.
    RunStarted(RunStarted),
    /// One scenario on one host in one mode with one seed.
    CellFinished(CellFinished),
    /// Last line.
    RunFinished(RunFinished),
}

/// What is about to run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RunStarted {
    /// [`EVENTS_VERSION`].
    pub v: u32,
    /// Name and version of the harness.
    pub tool: String,
    /// The server that was judged: its name and version as it told them, and how it was started.
    pub server: ServerUnderTest,
    /// The command that repeats this run.
    pub command: String,
    /// First seed.
    pub seed: u64,
    /// Seeds per cell in sim mode.
    pub seeds: u64,
    /// Hosts in column order.
    pub hosts: Vec<HostColumn>,
    /// Requirements in row order; every scenario that was selected, also those that were not played.
    pub scenarios: Vec<ScenarioRow>,
    /// The server's description of itself, in order: versions it accepts, capabilities, number of tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server_facts: Vec<HostFact>,
    /// Known features of hosts, beside the results; its hosts need no column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_support: Option<HostSupport>,
    /// For a foreign server: the file of its repository to which findings point, empty if none was named.
    /// Absent if the rows' own files are in the reader's repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub findings_in: Option<String>,
    /// The part of the run's cells in this stream; absent if it has all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// Whether the run fails only by what must hold, each time that it was asked. What should hold is told all the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub must_only: bool,
}

/// Whether a cell of this state in a row of this level fails its run.
pub(crate) fn fails(must_only: bool, level: &str, state: Status) -> bool {
    if must_only { level == MUST && matches!(state, Status::Fail | Status::Error) } else { state.is_defect() }
}

impl RunStarted {
    /// Whether a cell of this state in a row of this level fails the run.
    pub fn fails_by(&self, level: &str, state: Status) -> bool {
        fails(self.must_only, level, state)
    }

    /// The level of a row; empty for one that is not there.
    pub fn level(&self, scenario: &str) -> &str {
        self.scenarios.iter().find(|row| row.id == scenario).map_or("", |row| &row.level)
    }
}

/// Part of a run. Of all its cells in order, counted from 0, it has those whose number gives `index - 1`
/// modulo `of`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Shard {
    /// From 1.
    pub index: u32,
    /// Number of shards.
    pub of: u32,
}

/// The server that was judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ServerUnderTest {
    /// `serverInfo.name`, or the command's base name.
    pub name: String,
    /// `serverInfo.version`, when known.
    pub version: Option<String>,
    /// `in-process` or the command line.
    pub started_as: String,
}

/// A column of the matrix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HostColumn {
    /// `claude-code@2.1.330`.
    pub id: String,
    /// `claude-code`.
    pub family: String,
    /// `2.1.330` or `seed`.
    pub version: String,
    /// Whether it is a host, or a version of the protocol.
    #[serde(default, skip_serializing_if = "ColumnKind::is_host")]
    pub kind: ColumnKind,
    /// One sentence on the evidence for this profile.
    pub evidence: String,
    /// Facts to show beside the column, in order: name, value, source.
    pub facts: Vec<HostFact>,
}

/// The meaning of a column.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ColumnKind {
    /// A host, played by its profile.
    #[default]
    Host,
    /// A version of the protocol, tested by a plain client; `family` is `mcp`, `version` is `2025-06-18`.
    Protocol,
}

impl ColumnKind {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
    fn is_host(&self) -> bool {
        *self == Self::Host
    }
}

/// Known features of hosts: a table of features by host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HostSupport {
    /// Hosts in column order, by [`HostColumn::id`].
    pub hosts: Vec<String>,
    /// Features in row order.
    pub features: Vec<Feature>,
}

/// A row of [`HostSupport`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Feature {
    /// The fact's name, unique in the table: `notifications.tools_list_changed`.
    pub name: String,
    /// The feature in one line.
    pub title: String,
    /// The group of the row.
    pub area: String,
    /// One answer for each host, in column order.
    pub answers: Vec<Answer>,
}

/// Whether a host has a feature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Answer {
    /// The answer in one word.
    pub support: Support,
    /// The value or a note, if the word alone says too little.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The source of the answer.
    pub source: String,
}

/// The four possible answers, which must never look alike.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Support {
    /// The host has the feature.
    Yes,
    /// The host has a part of it; see the note.
    Partly,
    /// The host does not have it.
    No,
    /// It was never examined.
    Unknown,
}

/// One fact of a profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HostFact {
    /// The name of the fact.
    pub name: String,
    /// The value as a text.
    pub value: String,
    /// The source of the value.
    pub source: String,
}

/// A row of the matrix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ScenarioRow {
    /// `delivery.dm-within-ten-seconds`.
    pub id: String,
    /// One line for people.
    pub title: String,
    /// Group of rows.
    pub area: String,
    /// `must`, `should` or `may`.
    pub level: String,
    /// The requirement in a sentence.
    pub says: String,
    /// The source of the requirement.
    pub source: String,
    /// The scenario file, relative to the repository.
    pub file: String,
}

/// The result of a cell. Only [`Status::Pass`] is a pass.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Everything expected happened, and no rule was broken.
    Pass,
    /// An expectation or a rule did not hold.
    Fail,
    /// The harness or the server broke, so there is no verdict.
    Error,
    /// The host is known to lack a feature that the requirement needs; see the reason.
    Unsupported,
    /// It fails as the scenario says.
    KnownIssue,
    /// It passed and failed with the same seed.
    Flaky,
    /// It was selected and could not run; see the reason.
    NotRun,
    /// The requirement is not about this host, this server or this version; see the reason.
    NotApplicable,
    /// It is not known whether the host has a feature that the requirement needs; the reason names the fact.
    Unknown,
}

/// The result of one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CellFinished {
    /// [`ScenarioRow::id`].
    pub scenario: String,
    /// [`HostColumn::id`].
    pub host: String,
    /// `sim` or `process`.
    pub mode: String,
    /// The seed; 0 in process mode.
    pub seed: u64,
    /// The fault profile that drew the failing steps from the seed, if one was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault_profile: Option<String>,
    /// The result.
    pub status: Status,
    /// The reason of every state but `pass`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The failures, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
    /// Virtual (sim) or real (process) milliseconds from start to end.
    pub elapsed_ms: u64,
    /// The command that repeats this cell.
    pub replay: String,
    /// Milliseconds from a message's `write` to the model, one for each message, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delivery_ms: Vec<u64>,
    /// How each message first reached the model, in the order of writing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arrivals: Vec<Arrival>,
    /// The user's settings of the host: `channel`, `hooks`, `shell`, `wake_up`, `experimental`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set_up: Vec<String>,
    /// The number of messages that each carrier brought to the model.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub carriers: BTreeMap<String, u64>,
    /// Facts of the session: protocol offered and accepted, bytes, which side ended it, exit code.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub session: BTreeMap<String, String>,
    /// The texts that the model was shown, in order. Kept for the first seed and for every cell that is not a
    /// pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub model_view: Vec<ModelLine>,
    /// The wire, in order. Kept like `model_view`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transcript: Vec<WireLine>,
}

impl CellFinished {
    /// A result of which only the status is known.
    pub fn new(scenario: &str, host: &str, mode: &str, status: Status) -> Self {
        Self {
            scenario: scenario.to_owned(),
            host: host.to_owned(),
            mode: mode.to_owned(),
            seed: 0,
            fault_profile: None,
            status,
            reason: None,
            failures: Vec::new(),
            elapsed_ms: 0,
            replay: String::new(),
            delivery_ms: Vec::new(),
            arrivals: Vec::new(),
            set_up: Vec::new(),
            carriers: BTreeMap::new(),
            session: BTreeMap::new(),
            model_view: Vec::new(),
            transcript: Vec::new(),
        }
    }
}

/// How a message first reached the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Arrival {
    /// The carrier, as in [`ModelLine::carrier`].
    pub carrier: String,
    /// Whether a turn of the model was running when the message was written.
    pub busy: bool,
    /// Milliseconds since the message was written.
    pub ms: u64,
}

/// One failure of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Failure {
    /// The rule or expectation by its stable name: `expect.model`, `wire.schema`, `oracle.lost`.
    pub rule: String,
    /// The fault, in one sentence.
    pub message: String,
    /// Milliseconds since the start of the cell.
    pub at_ms: u64,
    /// The step of the scenario at fault, from 1, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// Line of that step in the scenario file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Where a reader finds the requirement of this column, if not at [`ScenarioRow::file`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The expected text, for a comparison.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// The observed text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<String>,
}

impl Failure {
    /// A failure without a step and without texts.
    pub fn new(rule: &str, at_ms: u64, message: impl Into<String>) -> Self {
        let (rule, message) = (rule.to_owned(), message.into());
        Self { rule, message, at_ms, step: None, line: None, place: None, expected: None, observed: None }
    }
}

/// One text that the model was shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ModelLine {
    /// Milliseconds since the start of the cell.
    pub at_ms: u64,
    /// `channel`, `tool_result`, `task_notification`, …
    pub carrier: String,
    /// Whether it woke an idle session.
    pub woke: bool,
    /// The tool, for a tool result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The exact text.
    pub text: String,
}

/// The direction of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub enum Lane {
    /// From the host to the server.
    #[serde(rename = "host>server")]
    HostToServer,
    /// From the server to the host.
    #[serde(rename = "server>host")]
    ServerToHost,
    /// A Graph request and its answer, one line each.
    #[serde(rename = "graph")]
    Graph,
    /// The server's standard error.
    #[serde(rename = "stderr")]
    Stderr,
    /// An event: the start of a step, a signal, an exit, a crash.
    #[serde(rename = "event")]
    Event,
}

/// One line of the transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct WireLine {
    /// Milliseconds since the start of the cell.
    pub at_ms: u64,
    /// The direction.
    pub lane: Lane,
    /// The line unchanged (secrets were masked before).
    pub text: String,
}

/// The sums of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RunFinished {
    /// Cells by state; every state is present.
    pub counts: BTreeMap<Status, u64>,
    /// Simulated milliseconds over all sim cells.
    pub simulated_ms: u64,
    /// 0 all passed, 1 a failure, 3 incomplete.
    pub exit_code: i32,
}

impl RunFinished {
    /// Sums the cells of a run up; the exit code follows from the counts, and from what the run fails by.
    pub fn of(header: &RunStarted, cells: &[CellFinished]) -> Self {
        let mut counts = BTreeMap::from(Status::ALL.map(|state| (state, 0)));
        for cell in cells {
            *counts.entry(cell.status).or_insert(0) += 1;
        }
        let fails = |cell: &CellFinished| {
            cell.status.is_defect() && header.fails_by(header.level(&cell.scenario), cell.status)
        };
        let exit_code = if cells.iter().any(fails) {
            1
        } else if counts[&Status::NotRun] > 0 {
            3
        } else {
            0
        };
        let simulated = cells.iter().filter(|cell| cell.mode == SIM).map(|cell| cell.elapsed_ms);
        let simulated_ms = simulated.fold(0, u64::saturating_add);
        Self { counts, simulated_ms, exit_code }
    }
}
