//! Servers with one fault each, made from the real one: what proves that the harness would see it.
//! A mutant must never change the harness itself, and must differ from the honest server in its one fault only.

mod disk;
mod graph;
mod pipe;
mod speech;
mod table;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use anyhow::Context as _;
use entraclaw::graph::GraphTransport;
use entraclaw::storage::Storage;
use entraclaw::storage::memory::MemoryStorage;
use reports::event::CellFinished;
use tokio::io::DuplexStream;

use crate::plan::Cell;
use crate::run::{Settings, run_cell};
use crate::scenario::{Loaded, Mode, load_builtin};

pub use table::MUTANTS;

/// Read once: mutants are many, and so are scenarios.
static SCENARIOS: LazyLock<Vec<Arc<Loaded>>> =
    LazyLock::new(|| load_builtin().into_iter().flatten().map(Arc::new).collect());

/// A server with one fault.
#[derive(Debug)]
pub struct Mutant {
    /// What people call it.
    pub id: &'static str,
    /// The fault, in words.
    pub does: &'static str,
    /// The rule that must catch it.
    pub rule: &'static str,
    /// What the finding must name besides, such as a wire rule.
    pub names: &'static str,
    /// The scenario in which it must be caught.
    pub scenario: &'static str,
    /// The host on which it must be caught.
    pub host: &'static str,
    /// How the fault is put in.
    way: Way,
}

/// Where a fault is put in.
#[derive(Debug, Clone, Copy)]
enum Way {
    /// What the server says.
    Speaks(speech::Change),
    /// What the server hears.
    Hears(speech::Change),
    /// What its disk does.
    Disk(disk::Fault),
    /// What it asks of Graph, and what it takes from it.
    Graph(graph::Fault),
    /// One of its settings.
    Setting(&'static str, &'static str),
}

/// What became of a mutant.
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
    /// The setting that is another one, as a variable of the environment.
    pub(crate) fn setting(&self) -> Option<(&'static str, &'static str)> {
        match self.way {
            Way::Setting(name, value) => Some((name, value)),
            _ => None,
        }
    }

    /// The server's ends of its pipes.
    pub(crate) fn pipes(&self, input: DuplexStream, output: DuplexStream) -> (DuplexStream, DuplexStream) {
        match self.way {
            Way::Speaks(change) => (input, pipe::writer(output, change)),
            Way::Hears(change) => (pipe::reader(input, change), output),
            _ => (input, output),
        }
    }

    /// Its disk.
    pub(crate) fn storage(&self, storage: MemoryStorage) -> Arc<dyn Storage> {
        match self.way {
            Way::Disk(fault) => Arc::new(disk::FaultyDisk { storage, fault }),
            _ => Arc::new(storage),
        }
    }

    /// Its way to Graph.
    pub(crate) fn transport(
        &self,
        transport: Arc<dyn GraphTransport>,
        environment: &BTreeMap<String, String>,
    ) -> Arc<dyn GraphTransport> {
        match self.way {
            Way::Graph(fault) => {
                let allowlist = environment.get("ENTRACLAW_ALLOW").map_or("", String::as_str);
                Arc::new(graph::FaultyClient::new(transport, fault, allowlist))
            }
            _ => transport,
        }
    }

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
        let scenario = SCENARIOS.iter().find(|loaded| loaded.id() == id);
        let scenario = scenario.with_context(|| format!("{}: no scenario is named `{id}`", self.id))?;
        let scenario = Arc::clone(scenario);
        let host = hostcheck::host::all()?.iter().find(|host| host.id == self.host).cloned();
        let host = host.with_context(|| format!("{}: no host {}", self.id, self.host))?;
        let lacks = scenario
            .scenario
            .needs
            .iter()
            .find_map(|need| crate::needs::lacks(&host, *need, fake_hosts::Mode::Tui));
        anyhow::ensure!(lacks.is_none(), "{}: {} can't play {id}: {lacks:?}", self.id, self.host);
        let (mode, faults, mutant) = (Mode::Sim, None, Some(self));
        let cell = Cell { scenario, host, mode, seed: 1, faults, unplayed: None, mutant };
        let settings = Settings { first_seed: 1, server_binary: None, twice: false };
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
