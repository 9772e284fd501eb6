//! The event stream: the one thing a report is made from.
//!
//! A run is a JSONL file: one `run_started`, any number of `cell_finished`, one `run_finished`. A stream without
//! its last line, with a cell twice, or with a cell of an unknown host is an invalid report, not a failed run.
//! Old readers must be able to skip new optional members; a changed meaning needs a new `v`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Version of this shape.
pub const EVENTS_VERSION: u32 = 1;
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
    /// Who was judged: name and version as the server told them, and how it was started.
    pub server: ServerUnderTest,
    /// The command that repeats this run.
    pub command: String,
    /// First seed.
    pub seed: u64,
    /// Seeds per cell in sim mode.
    pub seeds: u64,
    /// Hosts in column order.
    pub hosts: Vec<HostColumn>,
    /// Requirements in row order; every scenario that was selected, also those that ran nowhere.
    pub scenarios: Vec<ScenarioRow>,
    /// What the server said of itself, in order: versions it accepts, what it declared, how many tools it lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server_facts: Vec<HostFact>,
    /// What hosts are known to do, beside what was played; its hosts need no column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_support: Option<HostSupport>,
    /// Of a server of one's own: the file of its repository that findings point to, empty where none was named. Absent
    /// where the rows' own files are in the reader's repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub findings_in: Option<String>,
    /// Which part of the run's cells this stream holds; absent when it holds all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
}

/// Part of a run: of all its cells in order, counted from 0, those whose number leaves `index - 1` when divided by `of`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Shard {
    /// From 1.
    pub index: u32,
    /// How many there are.
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
    /// One sentence: what stands behind this profile.
    pub evidence: String,
    /// Facts worth showing beside the column, in order: name, value, source.
    pub facts: Vec<HostFact>,
}

/// What a column stands for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ColumnKind {
    /// A host with its habits.
    #[default]
    Host,
    /// A version of the protocol, asked by a client without habits; `family` is `mcp`, `version` is `2025-06-18`.
    Protocol,
}

impl ColumnKind {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
    fn is_host(&self) -> bool {
        *self == Self::Host
    }
}

/// What hosts are known to do: a table of features by host.
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
    /// One line for people.
    pub title: String,
    /// Group of rows.
    pub area: String,
    /// One per host, in column order.
    pub answers: Vec<Answer>,
}

/// Whether a host has a feature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Answer {
    /// In a word.
    pub support: Support,
    /// The value or a note, where the word alone says too little.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Where it comes from.
    pub source: String,
}

/// Four different things, which must never look alike.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Support {
    /// It does.
    Yes,
    /// It does in part; see the note.
    Partly,
    /// It does not.
    No,
    /// It was never looked at.
    Unknown,
}

/// One fact of a profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HostFact {
    /// What it is about.
    pub name: String,
    /// Its value in words.
    pub value: String,
    /// Where it comes from.
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
    /// Where the requirement comes from.
    pub source: String,
    /// The scenario file, relative to the repository.
    pub file: String,
}

/// How a cell ended. Only [`Status::Pass`] is a pass.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Everything expected happened and no rule was broken.
    Pass,
    /// An expectation or a rule did not hold.
    Fail,
    /// The harness or the server broke, so nothing can be said.
    Error,
    /// The host is known to lack what the requirement needs; see the reason.
    Unsupported,
    /// Fails as recorded in the scenario.
    KnownIssue,
    /// Passed and failed with the same seed.
    Flaky,
    /// Selected, but could not run here; see the reason.
    NotRun,
    /// The requirement is not about this host, this server or this version; see the reason.
    NotApplicable,
    /// Nobody knows whether the host has what the requirement needs; the reason names the fact.
    Unknown,
}

/// One cell's result.
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
    /// What went wrong in steps that were drawn from the seed, where a profile was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault_profile: Option<String>,
    /// How it ended.
    pub status: Status,
    /// Why, for every state but `pass`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Everything that did not hold, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
    /// Virtual (sim) or real (process) milliseconds from start to end.
    pub elapsed_ms: u64,
    /// The command that repeats this cell.
    pub replay: String,
    /// Milliseconds from a message's `write` to the model, one per message, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delivery_ms: Vec<u64>,
    /// How each message first reached the model, in the order of writing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arrivals: Vec<Arrival>,
    /// What the person had set in the host: `channel`, `hooks`, `shell`, `wake_up`, `experimental`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set_up: Vec<String>,
    /// How many messages each carrier brought to the model.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub carriers: BTreeMap<String, u64>,
    /// Facts of the session: protocol offered and accepted, bytes, who ended it, exit code.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub session: BTreeMap<String, String>,
    /// What the model was shown, in order. Kept for the first seed and for every cell that is not a pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub model_view: Vec<ModelLine>,
    /// The wire, in order. Kept as `model_view` is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transcript: Vec<WireLine>,
}

impl CellFinished {
    /// A result of which nothing is known but how it ended.
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
    /// As [`ModelLine::carrier`].
    pub carrier: String,
    /// Whether a turn of the model ran when it was written.
    pub busy: bool,
    /// Milliseconds from its writing.
    pub ms: u64,
}

/// One thing that did not hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Failure {
    /// The rule or expectation, by stable name: `expect.model`, `wire.schema`, `oracle.lost`.
    pub rule: String,
    /// What did not hold, in one sentence.
    pub message: String,
    /// Milliseconds since the start of the cell.
    pub at_ms: u64,
    /// The step of the scenario, from 1, where one is to blame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// Line of that step in the scenario file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// What was expected, as text to compare.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// What was there instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<String>,
}

impl Failure {
    /// What does not hold, without a step and without texts.
    pub fn new(rule: &str, at_ms: u64, message: impl Into<String>) -> Self {
        let (rule, message) = (rule.to_owned(), message.into());
        Self { rule, message, at_ms, step: None, line: None, expected: None, observed: None }
    }
}

/// One thing that the model was shown.
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

/// Which way a line went.
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
    /// Something that happened: a step began, a signal, an exit, a crash.
    #[serde(rename = "event")]
    Event,
}

/// One line of the transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct WireLine {
    /// Milliseconds since the start of the cell.
    pub at_ms: u64,
    /// Direction.
    pub lane: Lane,
    /// The line as it was (secrets masked before it came here).
    pub text: String,
}

/// The sum of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RunFinished {
    /// Cells by state, every state present.
    pub counts: BTreeMap<Status, u64>,
    /// Simulated milliseconds over all sim cells.
    pub simulated_ms: u64,
    /// 0 all passed, 1 a failure, 3 incomplete.
    pub exit_code: i32,
}

impl RunFinished {
    /// Sums up: every state present, and the exit code that follows.
    pub fn of(cells: &[CellFinished]) -> Self {
        let mut counts = BTreeMap::from(Status::ALL.map(|state| (state, 0)));
        for cell in cells {
            *counts.entry(cell.status).or_insert(0) += 1;
        }
        let exit_code = if cells.iter().any(|cell| cell.status.is_defect()) {
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
