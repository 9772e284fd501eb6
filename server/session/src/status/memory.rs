//! What the memory holds, from files alone.
//!
//! It must never open the index, nor a session but to see how it stands.

use entraclaw_memory::provider::INDEX;
use entraclaw_memory::stores::{Agent, Depth, Library, Surveyed, survey};
use entraclaw_seams::storage::Storage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is there once sessions were indexed.
const CATALOG: &str = "memory/catalog.json";

/// The memory: the index of all agents' sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemorySummary {
    /// The size of the index.
    pub bytes: u64,
    /// The agents that have sessions on this machine.
    pub agents: Vec<AgentSessions>,
}

/// The sessions of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentSessions {
    /// The agent.
    pub agent: Agent,
    /// Files of its sessions.
    pub sessions: usize,
}

impl MemorySummary {
    /// The memory; `None` where nothing was indexed yet. With it comes what was read of the stores, to a depth.
    pub fn of(storage: &dyn Storage, library: &Library, depth: Depth) -> Option<(Self, Vec<Surveyed>)> {
        let catalog = storage.len(CATALOG).ok().flatten()?;
        let names = storage.list(INDEX).unwrap_or_default();
        let lengths = names.iter().filter_map(|name| storage.len(&format!("{INDEX}/{name}")).ok().flatten());
        let bytes = lengths.sum::<u64>() + catalog;
        let surveyed = survey(library, depth);
        let agents = surveyed.iter().map(|one| AgentSessions { agent: one.agent, sessions: one.sessions });
        Some((Self { bytes, agents: agents.collect() }, surveyed))
    }

    /// The sessions by agent in one line.
    pub fn sessions_in_a_line(&self) -> String {
        let by_agent = self.agents.iter().map(|one| format!("{} {}", one.agent.as_str(), one.sessions));
        let total: usize = self.agents.iter().map(|one| one.sessions).sum();
        let listed = by_agent.collect::<Vec<_>>().join(", ");
        let counted = super::amount::counted(total as u64, "session");
        if listed.is_empty() { counted } else { format!("{counted} ({listed})") }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use entraclaw_memory::files::DiskFiles;
    use entraclaw_memory::stores::{Homes, System};
    use entraclaw_seams::storage::MemoryStorage;

    use super::*;

    #[test]
    fn the_memory_is_told_once_something_was_indexed_and_as_large_as_its_files() {
        let homes = Homes { home: "/nowhere".into(), variables: BTreeMap::new(), system: System::Linux };
        let library = Library::new(Arc::new(DiskFiles), homes);
        let depth = Depth { files_max: 1, bytes_max: 1 };
        let storage = MemoryStorage::new();
        storage.create_dir(INDEX).unwrap();
        storage.replace_derived(&format!("{INDEX}/part"), b"12345").unwrap();
        assert_eq!(MemorySummary::of(&storage, &library, depth), None);
        storage.replace_derived(CATALOG, b"{}").unwrap();
        let (summary, _) = MemorySummary::of(&storage, &library, depth).unwrap();
        assert_eq!((summary.bytes, summary.agents.iter().map(|one| one.sessions).sum::<usize>()), (7, 0));
    }
}
