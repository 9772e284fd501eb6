//! Plays one cell and says how it ended. The same code for simulation and for real processes; only the stage differs.

mod agent;
mod attention;
mod bare;
mod bell;
mod bot;
mod commands;
mod expect;
mod extension;
mod guard;
mod kills;
mod machine;
mod mail;
mod operator;
mod peer;
mod play;
mod pool;
mod port;
mod process;
mod random;
mod session;
mod setup;
mod sign_in;
mod sim;
mod slow;
mod socket;
mod stage;
mod steps;
mod stopwatch;
mod view;
mod watcher;
mod world;

use std::time::Duration;

use reports::event::{CellFinished, Failure, Status};

use crate::plan::Cell;
use crate::scenario::Mode;

pub use pool::{News, run_all};
pub(crate) use random::drawn;
pub(crate) use world::TOKEN;

/// The rule that a seed breaks which gives another run each time.
pub(crate) const NOT_REPEATABLE: &str = "harness.repeatable";

/// How much of a cell is kept in the event stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The transcript and the model's view, whatever the end.
    All,
    /// Both only when it did not pass.
    Failures,
}

/// Settings of a run that are not part of a cell.
#[derive(Debug, Clone)]
pub struct Settings {
    /// First seed: its cells keep their transcripts.
    pub first_seed: u64,
    /// The server's binary, for process mode.
    pub server_binary: Option<std::path::PathBuf>,
    /// Whether each sim cell runs twice and both must be equal to the byte.
    pub twice: bool,
}

/// Runs one cell.
pub fn run_cell(cell: &Cell, settings: &Settings) -> CellFinished {
    if let Some(unplayed) = &cell.unplayed {
        return ended(cell, unplayed.status, &unplayed.reason);
    }
    let keep = if cell.mode == Mode::Process || cell.seed == settings.first_seed {
        Keep::All
    } else {
        Keep::Failures
    };
    let mut finished = match cell.mode {
        Mode::Sim => simulated(cell, settings.twice && !cell.scenario.scenario.long),
        Mode::Process => match &settings.server_binary {
            Some(binary) => guarded(cell, || process::play(cell, binary)),
            None => {
                return ended(
                    cell,
                    Status::NotRun,
                    "the server's binary is not built; run `cargo build --release -p entraclaw`",
                );
            }
        },
    };
    apply_known_issue(cell, &mut finished);
    if keep == Keep::Failures && finished.status == Status::Pass {
        // With their capacity: thousands of days would keep gigabytes.
        finished.transcript = Vec::new();
        finished.model_view = Vec::new();
    }
    finished
}

fn simulated(cell: &Cell, twice: bool) -> CellFinished {
    let mut first = guarded(cell, || sim::play(cell));
    if twice && first.status != Status::Error {
        let second = guarded(cell, || sim::play(cell));
        if first != second {
            first.failures.push(not_repeatable(&first, &second));
            first.status = Status::Flaky;
            first.reason = Some("the same seed gave another run".to_owned());
        }
    }
    first
}

fn not_repeatable(first: &CellFinished, second: &CellFinished) -> Failure {
    let pair = first.transcript.iter().zip(&second.transcript).find(|(a, b)| a != b);
    Failure {
        rule: NOT_REPEATABLE.to_owned(),
        message: "the same seed gave another run; the first difference is shown".to_owned(),
        at_ms: pair.map_or(0, |(a, _)| a.at_ms),
        step: None,
        line: None,
        expected: pair.map(|(a, _)| format!("{} ms {}", a.at_ms, a.text)),
        observed: pair.map(|(_, b)| format!("{} ms {}", b.at_ms, b.text)),
    }
}

/// A panic of the server or the harness is an error of this cell, not the end of the run.
fn guarded(cell: &Cell, play: impl FnOnce() -> anyhow::Result<CellFinished>) -> CellFinished {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(play)) {
        Ok(Ok(finished)) => finished,
        Ok(Err(error)) => ended(cell, Status::Error, &format!("{error:#}")),
        Err(panic) => ended(cell, Status::Error, &format!("panicked: {}", panic_text(&*panic))),
    }
}

/// What a panic said.
pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_else(|| "without a word".to_owned())
}

fn apply_known_issue(cell: &Cell, finished: &mut CellFinished) {
    let issue = cell
        .scenario
        .scenario
        .known_issues
        .iter()
        .find(|issue| issue.host == cell.host.id || issue.host == cell.host.family);
    let Some(issue) = issue else { return };
    match finished.status {
        Status::Fail => {
            finished.status = Status::KnownIssue;
            finished.reason = Some(format!("{} ({})", issue.why, issue.link));
        }
        Status::Pass => {
            finished.status = Status::Fail;
            finished.reason =
                Some(format!("passes although it is a known issue: {}; remove the entry", issue.link));
        }
        _ => {}
    }
}

/// A cell that ended without having been played.
pub(crate) fn ended(cell: &Cell, status: Status, reason: &str) -> CellFinished {
    CellFinished {
        scenario: cell.scenario.id().to_owned(),
        host: cell.host.id.clone(),
        mode: cell.mode.as_str().to_owned(),
        seed: cell.seed,
        fault_profile: cell.fault_profile().map(str::to_owned),
        status,
        reason: Some(reason.to_owned()),
        failures: Vec::new(),
        elapsed_ms: 0,
        replay: cell.replay(),
        delivery_ms: Vec::new(),
        arrivals: Vec::new(),
        set_up: Vec::new(),
        carriers: std::collections::BTreeMap::new(),
        session: std::collections::BTreeMap::new(),
        model_view: Vec::new(),
        transcript: Vec::new(),
    }
}

/// In process mode waits of the scenario and the poll interval are this many times shorter.
pub(crate) const PROCESS_SPEED: u32 = 20;

/// How long a step's wait is on this stage.
pub(crate) fn scaled(mode: Mode, wait: Duration) -> Duration {
    match mode {
        Mode::Sim => wait,
        Mode::Process => wait / PROCESS_SPEED,
    }
}
