//! From a seed that broke a rule to the few of its drawn steps that break it too, as a scenario of its own.
//! It must never offer steps that could not have been drawn: a host that is never restarted, or a fault that never ends,
//! breaks rules of every server.

mod pieces;
mod yaml;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use reports::event::{CellFinished, Status};
use scenario::{Loaded, Span, Step, parse};

use self::pieces::Pieces;
use crate::plan::Cell;
use crate::run::{Repeats, Settings, run_cell};

/// Plays that shrinking one seed takes at most.
pub const PLAYS_MAX: u32 = 300;
/// What a wait is shortened to, in milliseconds, if that still breaks the rule.
const SHORTER_MS: [u64; 6] = [1, 1_000, 10_000, 60_000, 600_000, 3_600_000];
/// In place of a rule where the server or the harness broke.
const ERROR: &str = "error";

/// A seed made small.
#[derive(Debug, Clone)]
pub struct Smallest {
    /// A scenario that breaks the same rule on the same host with the same seed.
    pub yaml: String,
    /// Its id.
    pub id: String,
    /// Drawn steps that are left.
    pub steps: usize,
    /// Steps that the seed drew.
    pub drawn: usize,
    /// The number of plays.
    pub plays: u32,
}

/// The rule that a cell broke first; none for one that did not fail.
pub fn broken_rule(finished: &CellFinished) -> Option<&str> {
    match finished.status {
        Status::Fail | Status::Flaky => finished.failures.first().map(|failure| failure.rule.as_str()),
        Status::Error => Some(ERROR),
        _ => None,
    }
}

fn breaks(finished: &CellFinished, rule: &str) -> bool {
    match finished.status {
        Status::Fail | Status::Flaky => finished.failures.iter().any(|failure| failure.rule == rule),
        Status::Error => rule == ERROR,
        _ => false,
    }
}

/// Shrinks a simulated cell whose scenario draws its steps.
///
/// # Errors
/// When its steps, written down, do not break the rule, or the scenario can't be written.
pub fn smallest(cell: &Cell, rule: &str, message: &str, plays_max: u32) -> anyhow::Result<Smallest> {
    let pieces = Pieces::of(cell);
    let drawn = pieces.drawn();
    let mut hunt = Hunt { cell, rule, plays: 0, plays_max, pieces };
    anyhow::ensure!(
        hunt.still_breaks(&hunt.pieces.clone()),
        "the steps that the seed drew do not break {rule} when they are written down"
    );
    hunt.drop_pieces();
    hunt.shorten_waits();
    let id = id(cell);
    let about = yaml::About { id: &id, rule, message, drawn, left: hunt.pieces.drawn() };
    let yaml = yaml::write(cell, &hunt.pieces.steps(), &about)?;
    let loaded = parse(&id, &yaml).context("the steps can't be written as a scenario")?;
    let written = Cell { scenario: Arc::new(loaded), ..cell.clone() };
    anyhow::ensure!(breaks(&play(&written), rule), "the scenario that was written does not break {rule}");
    Ok(Smallest { yaml, steps: about.left, drawn, plays: hunt.plays + 1, id })
}

/// The command that plays a cell's small scenario in a file, and nothing else.
pub fn replay(cell: &Cell, file: &str) -> String {
    let loaded = Loaded { file: file.to_owned(), builtin: false, ..(*cell.scenario).clone() };
    Cell { scenario: Arc::new(loaded), faults: None, ..cell.clone() }.replay()
}

/// The id of a cell's small scenario, which is a name of a file too.
pub fn id(cell: &Cell) -> String {
    let faults = cell.fault_profile().map(|name| format!("-{name}")).unwrap_or_default();
    let host = cell.host.id.replace(|letter: char| !letter.is_ascii_alphanumeric() && letter != '.', "-");
    format!("{}-{}{faults}-seed-{}", cell.scenario.id(), host.to_lowercase(), cell.seed)
}

fn play(cell: &Cell) -> CellFinished {
    run_cell(
        cell,
        &Settings { first_seed: cell.seed, server_binary: None, agent_binary: None, repeats: Repeats::Never },
    )
}

struct Hunt<'a> {
    cell: &'a Cell,
    rule: &'a str,
    plays: u32,
    plays_max: u32,
    pieces: Pieces,
}

impl Hunt<'_> {
    fn is_over(&self) -> bool {
        self.plays >= self.plays_max
    }

    fn still_breaks(&mut self, pieces: &Pieces) -> bool {
        // Without a message, no demand about messages can hold.
        if self.pieces.has_messages() && !pieces.has_messages() {
            return false;
        }
        self.plays += 1;
        let Loaded { scenario, file, source, builtin } = &*self.cell.scenario;
        let mut scenario = scenario.clone();
        scenario.steps = pieces.spanned();
        let loaded = Loaded { scenario, file: file.clone(), source: Arc::clone(source), builtin: *builtin };
        breaks(&play(&Cell { scenario: Arc::new(loaded), ..self.cell.clone() }), self.rule)
    }

    /// Takes `pieces` if they break the rule too.
    fn try_with(&mut self, pieces: Pieces) -> bool {
        let taken = self.still_breaks(&pieces);
        if taken {
            self.pieces = pieces;
        }
        taken
    }

    /// Leaves out halves, quarters and so on down to single steps.
    fn drop_pieces(&mut self) {
        let mut size = self.pieces.removable().len().div_ceil(2);
        while size > 0 {
            let before = self.pieces.removable().len();
            let mut at = 0;
            while !self.is_over() {
                let there = self.pieces.removable();
                if at >= there.len() {
                    break;
                }
                let chunk = &there[at..there.len().min(at + size)];
                if !self.try_with(self.pieces.without(chunk)) {
                    at += size;
                }
            }
            let is_smaller = self.pieces.removable().len() < before;
            size = match size {
                1 if is_smaller && !self.is_over() => 1,
                1 => 0,
                more => more.div_ceil(2),
            };
        }
    }

    fn shorten_waits(&mut self) {
        if !self.is_over() {
            self.try_with(self.pieces.with_waits_joined());
        }
        for (at, wait, least) in self.pieces.waits() {
            let shorter = SHORTER_MS.into_iter().map(Duration::from_millis);
            for shorter in shorter.filter(|shorter| (least..wait.0).contains(shorter)) {
                if self.is_over() || self.try_with(self.pieces.with(at, Step::Advance(Span(shorter)))) {
                    break;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
