//! A scenario with a mutant in the server's place, and whether its rule found it.

use std::sync::Arc;

use anyhow::Context as _;
use reports::event::CellFinished;
use scenario::{Mode, load_builtin};

use super::Mutant;
use crate::needs;
use crate::plan::Cell;
use crate::run::{Repeats, Settings, run_cell};

/// The outcome of a mutant's trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Its rule found it; the finding.
    Caught(String),
    /// Only other rules found something.
    OtherRules(Vec<String>),
    /// Nothing found it.
    Survived,
}

impl Mutant {
    /// Plays its scenario with it.
    ///
    /// # Errors
    ///
    /// As [`Mutant::play_in`].
    pub fn play(&'static self) -> anyhow::Result<CellFinished> {
        self.play_in(self.scenario)
    }

    /// Plays a scenario with it.
    ///
    /// # Errors
    ///
    /// When the scenario or its host is not there, or the host can't play that.
    pub fn play_in(&'static self, id: &str) -> anyhow::Result<CellFinished> {
        let scenario = load_builtin()?.iter().find(|loaded| loaded.id() == id);
        let scenario = scenario.with_context(|| format!("{}: no scenario is named `{id}`", self.id))?;
        let scenario = Arc::clone(scenario);
        let host = hostcheck::host::all()?.iter().find(|host| host.id == self.host).cloned();
        let host = host.with_context(|| format!("{}: no host {}", self.id, self.host))?;
        let lacks =
            scenario.scenario.needs.iter().find_map(|need| needs::lacks(&host, *need, fake_hosts::Mode::Tui));
        anyhow::ensure!(lacks.is_none(), "{}: {} can't play {id}: {lacks:?}", self.id, self.host);
        let (mode, faults, mutant) = (Mode::Sim, None, Some(self));
        let cell = Cell { scenario, host, mode, seed: 1, faults, unplayed: None, mutant };
        let settings =
            Settings { first_seed: 1, server_binary: None, agent_binary: None, repeats: Repeats::Never };
        Ok(run_cell(&cell, &settings))
    }

    /// Judges how that ended.
    pub fn verdict(&self, played: &CellFinished) -> Verdict {
        let caught = played
            .failures
            .iter()
            .find(|failure| failure.rule == self.rule && failure.message.contains(self.names));
        match caught {
            Some(failure) => Verdict::Caught(failure.message.clone()),
            None if played.failures.is_empty() => match &played.reason {
                Some(reason) => Verdict::OtherRules(vec![reason.clone()]),
                None => Verdict::Survived,
            },
            None => {
                let said = played.failures.iter().map(|f| format!("{}: {}", f.rule, f.message));
                Verdict::OtherRules(said.collect())
            }
        }
    }
}
