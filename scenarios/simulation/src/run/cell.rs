//! One cell from its plan to its end: played or not, twice where the seed must repeat.

use reports::event::{CellFinished, Failure, Status};
use scenario::Mode;

use super::ended::{broken, panic_text, unplayed};
use super::play::{LINES_LEFT_OUT, TEXTS_LEFT_OUT};
use super::{process, sim};
use crate::needs::Unplayed;
use crate::plan::Cell;

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
    /// The program that stands in for other agents, for process mode.
    pub agent_binary: Option<std::path::PathBuf>,
    /// Which sim cells run twice; both runs must be equal to the byte.
    pub repeats: Repeats,
}

/// Which simulated cells run twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeats {
    /// All, but for those of long scenarios.
    All,
    /// One in so many of them, the same in every run.
    Some,
    /// None.
    Never,
}

/// The host whose conversations a first look keeps.
const SHOWN_HOST: &str = "claude-code@2.1.330";

/// The most bytes on the wire that a first look keeps of a cell that passed.
const FIRST_LOOK_WIRE_BYTES_MAX: usize = 12 * 1024;

/// The most bytes that the model was shown, of those too. The scenarios whose texts are compared by carrier have less.
const FIRST_LOOK_VIEW_BYTES_MAX: usize = 160 * 1024;

/// The share of the cells that run twice in a first look.
const REPEATED_ONE_IN: u64 = 32;

impl Repeats {
    /// Whether this cell runs twice.
    pub fn has(self, cell: &Cell) -> bool {
        let drawn = || {
            let letters = cell.scenario.id().bytes().chain(cell.host.id.bytes());
            letters.fold(cell.seed, |sum, letter| sum.wrapping_mul(31).wrapping_add(letter.into()))
        };
        !cell.scenario.scenario.long
            && match self {
                Self::All => true,
                Self::Some => drawn().is_multiple_of(REPEATED_ONE_IN),
                Self::Never => false,
            }
    }
}

/// Runs one cell.
pub fn run_cell(cell: &Cell, settings: &Settings) -> CellFinished {
    if let Some(why) = &cell.unplayed {
        return unplayed(cell, why);
    }
    // In a first look every host plays the first seed, and one conversation of each scenario is enough to read.
    let is_shown = settings.repeats != Repeats::Some || cell.host.id == SHOWN_HOST;
    let keep = if cell.mode == Mode::Process || (cell.seed == settings.first_seed && is_shown) {
        Keep::All
    } else {
        Keep::Failures
    };
    let mut finished = match cell.mode {
        Mode::Sim => simulated(cell, settings.repeats.has(cell)),
        Mode::Process => {
            let Some(binary) = &settings.server_binary else {
                let reason = "the server's binary is not built; run `cargo build --release -p entraclaw`";
                return unplayed(cell, &Unplayed::not_run(reason));
            };
            let agent = settings.agent_binary.as_deref();
            if agent.is_none() && !cell.scenario.scenario.agents.is_empty() {
                let reason =
                    "the program `fake-agent` is not built; run `cargo build --release -p fake-agents`";
                return unplayed(cell, &Unplayed::not_run(reason));
            }
            guarded(cell, || process::play(cell, binary, agent))
        }
    };
    apply_known_issue(cell, &mut finished);
    if keep == Keep::Failures && finished.status == Status::Pass {
        // With their capacity: thousands of days would keep gigabytes.
        finished.transcript = Vec::new();
        finished.model_view = Vec::new();
    } else if settings.repeats == Repeats::Some && finished.status == Status::Pass {
        cut(&mut finished);
    }
    finished
}

/// Cuts a passed cell to what its report has room for; a day of a host is megabytes.
fn cut(finished: &mut CellFinished) {
    let wire = bound(&mut finished.transcript, FIRST_LOOK_WIRE_BYTES_MAX, |line| line.text.len());
    let view = bound(&mut finished.model_view, FIRST_LOOK_VIEW_BYTES_MAX, |line| line.text.len());
    for (fact, cut) in [(LINES_LEFT_OUT, wire), (TEXTS_LEFT_OUT, view)] {
        if cut > 0 {
            let left_out = finished.session.entry(fact.to_owned()).or_default();
            *left_out = (left_out.parse().unwrap_or(0) + cut).to_string();
        }
    }
}

/// Keeps the first of these within so many bytes, and gives how many are left out.
fn bound<T>(lines: &mut Vec<T>, bytes_max: usize, bytes_of: impl Fn(&T) -> usize) -> usize {
    let mut bytes = 0;
    let room = lines.iter().take_while(|line| {
        bytes += bytes_of(line);
        bytes <= bytes_max
    });
    let kept = room.count();
    let cut = lines.len() - kept;
    lines.truncate(kept);
    lines.shrink_to_fit();
    cut
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
    let message = "the same seed gave another run; the first difference is shown";
    Failure {
        expected: pair.map(|(a, _)| format!("{} ms {}", a.at_ms, a.text)),
        observed: pair.map(|(_, b)| format!("{} ms {}", b.at_ms, b.text)),
        ..Failure::new(NOT_REPEATABLE, pair.map_or(0, |(a, _)| a.at_ms), message)
    }
}

/// A panic of the server or the harness is an error of this cell, not the end of the run.
fn guarded(cell: &Cell, play: impl FnOnce() -> anyhow::Result<CellFinished>) -> CellFinished {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(play)) {
        Ok(Ok(finished)) => finished,
        Ok(Err(error)) => broken(cell, format!("{error:#}")),
        Err(panic) => broken(cell, format!("panicked: {}", panic_text(&*panic))),
    }
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

#[cfg(test)]
mod tests {
    use reports::event::{Lane, ModelLine, WireLine};

    use super::*;

    #[test]
    fn a_long_conversation_is_cut_and_its_lines_are_counted() {
        let line = |at_ms| WireLine { at_ms, lane: Lane::Graph, text: "x".repeat(1024) };
        let mut short = CellFinished::new("a.b", "h@1", "sim", Status::Pass);
        short.transcript = (0..12).map(line).collect();
        let mut long = CellFinished { transcript: (0..15).map(line).collect(), ..short.clone() };
        let whole = short.clone();
        cut(&mut short);
        assert_eq!(short, whole);
        cut(&mut long);
        assert_eq!((long.transcript.len(), long.session[LINES_LEFT_OUT].as_str()), (12, "3"));
        long.transcript.extend((12..14).map(line));
        cut(&mut long);
        assert_eq!(long.session[LINES_LEFT_OUT], "5", "added to what was left out before");
    }

    #[test]
    fn what_a_model_was_shown_is_cut_where_it_is_very_much() {
        let shown = ModelLine {
            at_ms: 0,
            carrier: "channel".to_owned(),
            woke: false,
            tool: None,
            text: "x".repeat(FIRST_LOOK_VIEW_BYTES_MAX / 4),
        };
        for (lines, left_out) in [(4, None), (6, Some("2"))] {
            let mut cell = CellFinished::new("a.b", "h@1", "sim", Status::Pass);
            cell.model_view = vec![shown.clone(); lines];
            cut(&mut cell);
            assert_eq!(
                (cell.model_view.len(), cell.session.get(TEXTS_LEFT_OUT).map(String::as_str)),
                (4, left_out)
            );
        }
    }
}
