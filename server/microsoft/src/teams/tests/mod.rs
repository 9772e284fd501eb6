//! Tests the source against a small Graph, on a paused clock.

mod delivery;
mod memory;
mod trouble;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use fake_microsoft::graph::{MessageSpec, RawOverride};
use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::support::graph::{ALICE, BOB, DM, GROUP, MALLORY, TENANT, TestGraph, start_of_time};
use crate::support::script::Reply;
use crate::teams::GroupMessages;
use entraclaw_inbox::gate::{Agent, Guid, Person, operator};
use entraclaw_inbox::journal::JournalOptions;
use entraclaw_inbox::record::Record;
use entraclaw_seams::clock::TokioClock;
use entraclaw_seams::storage::MemoryStorage;

/// A home folder with its journal and a source.
struct House {
    graph: TestGraph,
    storage: MemoryStorage,
    journal: Journal,
    parts: TeamsParts,
}

/// The defaults of the configuration, but for messages of groups.
fn settings() -> Settings {
    Settings {
        enabled: true,
        poll_interval: Duration::from_secs(5),
        overlap: Duration::from_secs(30),
        page_size: 50,
        look_back: Duration::ZERO,
        sweep_interval: Duration::from_secs(45),
        hot_for: Duration::from_secs(15 * 60),
        group_messages: GroupMessages::All,
        watchable: Watchable::Only(BTreeSet::new()),
        idle_poll_interval: Duration::from_secs(5),
        reactions: true,
    }
}

impl House {
    fn new(graph: &TestGraph) -> Self {
        Self::at(graph, MemoryStorage::new())
    }

    fn at(graph: &TestGraph, storage: MemoryStorage) -> Self {
        let clock = Arc::new(TokioClock::starting_at(graph.now()));
        let shared: Arc<dyn Storage> = Arc::new(storage.clone());
        let (journal, _) = Journal::open(shared.clone(), clock.clone(), JournalOptions::default()).unwrap();
        let agent = Agent { tenant_id: Some(guid(TENANT)), object_id: None };
        let parts = TeamsParts {
            client: Arc::new(graph.script.client_at(clock.clone())),
            storage: shared,
            clock,
            gate: Arc::new(Gate::new([(guid(TENANT), guid(ALICE)), (guid(TENANT), guid(BOB))])),
            known: Arc::new(Known::new(agent)),
            options: settings(),
        };
        Self { graph: graph.clone(), storage, journal, parts }
    }

    /// Builds a house whose gate reads the policy of the home folder.
    fn with_policy(graph: &TestGraph, storage: MemoryStorage) -> Self {
        let mut house = Self::at(graph, storage);
        let gate = Gate::new([(guid(TENANT), guid(ALICE))]).with_policy(house.parts.storage.clone());
        gate.refresh();
        house.parts.gate = Arc::new(gate);
        house
    }

    /// Lets the source run for a while, then drops it at any point of its work.
    async fn run(&self, time: Duration) -> SourceStatus {
        let mut source = TeamsSource::new(self.parts.clone(), SourceStatus::default());
        let status = source.status();
        let _ = tokio::time::timeout(time, source.run(&self.journal)).await;
        status
    }

    async fn run_s(&self, seconds: u64) -> SourceStatus {
        self.run(Duration::from_secs(seconds)).await
    }

    /// Starts a new process in the same home folder.
    fn restarted(self) -> Self {
        let storage = self.storage.new_process();
        self.storage.kill();
        drop(self.journal);
        Self::at(&self.graph, storage)
    }

    /// Starts a new process whose gate reads the policy of the home folder.
    fn restarted_with_policy(self) -> Self {
        let storage = self.storage.new_process();
        self.storage.kill();
        drop(self.journal);
        Self::with_policy(&self.graph, storage)
    }

    fn records(&self) -> Vec<Record> {
        self.journal.read_after(0, 100_000).unwrap()
    }

    fn texts(&self) -> Vec<String> {
        self.records().into_iter().map(|r| r.content_text_sanitized).collect()
    }

    fn interactions(&self) -> Vec<Value> {
        let paths = self.storage.paths().into_iter().filter(|p| p.starts_with("interactions/"));
        let bytes: Vec<u8> = paths.flat_map(|p| self.storage.bytes(&p).unwrap()).collect();
        String::from_utf8(bytes).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect()
    }
}

fn guid(text: &str) -> Guid {
    Guid::parse(text).unwrap()
}

fn count(lines: &[String], part: &str) -> usize {
    lines.iter().filter(|line| line.contains(part)).count()
}
