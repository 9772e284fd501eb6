//! What all calls of one server share: the context files, the search, the places.
//! It must never be touched on the connection's own thread, as it reads files.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use entraclaw_seams::clock::Clock;
use entraclaw_seams::processes::Processes;
use entraclaw_seams::storage::Storage;
use jiff::tz::TimeZone;

use super::beside::Beside;
use super::failure::Failure;
use super::scope::Scope;
use crate::context::{Contexts, ContextsParts};
use crate::files::ContextFiles;
use crate::search::{IndexPlace, Memory, MemoryError, MemoryParts};
use crate::stores::{Agent, Homes, Library};

/// The folder of the index, below the home folder.
pub const INDEX: &str = "memory/index";

/// The parts of the provider.
pub struct ContextParts {
    /// The home folder.
    pub storage: Arc<dyn Storage>,
    /// The files of the workspaces and of the agents.
    pub files: Arc<dyn ContextFiles>,
    /// Where the agents keep their sessions.
    pub homes: Homes,
    /// The system's processes, which show whether a session still runs.
    pub processes: Arc<dyn Processes>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// In which zone times are shown.
    pub zone: TimeZone,
    /// Where the index of the search is.
    pub index: IndexPlace,
    /// The folder of a table of meanings, if there is to be one.
    pub meanings: Option<PathBuf>,
    /// The name of the context file.
    pub file_name: String,
    /// Which workspaces there are.
    pub scope: Scope,
    /// Where files are touched.
    pub beside: Beside,
}

/// What all calls share.
pub(super) struct Shared {
    pub(super) parts: ContextParts,
    pub(super) contexts: Contexts,
    /// The search, once it was asked for.
    memory: Mutex<Option<Memory>>,
    /// The sessions of all agents.
    library: Mutex<Library>,
}

/// Who calls, and from where.
#[derive(Debug, Clone, Default)]
pub(super) struct From {
    /// The folders that the host tells.
    pub(super) roots: Vec<PathBuf>,
    /// The name of the host.
    pub(super) client: Option<String>,
    /// Whose sessions the host keeps, if that is known.
    pub(super) agent: Option<Agent>,
}

/// The agent of a family of hosts.
pub(super) fn agent_of(family: &str) -> Option<Agent> {
    match family {
        "claude-code" => Some(Agent::Claude),
        "codex" => Some(Agent::Codex),
        "copilot-cli" => Some(Agent::Copilot),
        "gemini-cli" => Some(Agent::Gemini),
        "opencode" => Some(Agent::Opencode),
        "qwen-code" => Some(Agent::Qwen),
        _ => None,
    }
}

impl Shared {
    pub(super) fn new(parts: ContextParts) -> Self {
        let contexts = Contexts::new(ContextsParts {
            storage: parts.storage.clone(),
            files: parts.files.clone(),
            clock: parts.clock.clone(),
            zone: parts.zone.clone(),
            file_name: parts.file_name.clone(),
            bytes_max: Contexts::BYTES_MAX,
        });
        let library = Library::new(parts.files.clone(), parts.homes.clone());
        Self { parts, contexts, memory: Mutex::new(None), library: Mutex::new(library) }
    }

    /// The workspace that a call means.
    pub(super) fn workspace(&self, parameter: Option<&str>, from: &From) -> Result<PathBuf, Failure> {
        self.parts.scope.find(&*self.parts.files, &self.contexts, parameter, &from.roots)
    }

    /// Works with the search. The first call opens the index.
    pub(super) fn with_memory<T>(
        &self,
        work: impl FnOnce(&mut Memory) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let opened = match memory.take() {
            Some(opened) => opened,
            None => self.open()?,
        };
        work(memory.insert(opened))
    }

    /// Works with the sessions of all agents.
    pub(super) fn with_library<T>(&self, work: impl FnOnce(&mut Library) -> T) -> T {
        work(&mut self.library.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn open(&self) -> Result<Memory, MemoryError> {
        if matches!(self.parts.index, IndexPlace::Folder(_)) {
            self.parts.storage.create_dir(INDEX)?;
        }
        Memory::open(MemoryParts {
            storage: self.parts.storage.clone(),
            files: self.parts.files.clone(),
            homes: self.parts.homes.clone(),
            clock: self.parts.clock.clone(),
            index: self.parts.index.clone(),
            meanings: self.parts.meanings.clone(),
        })
    }

    /// A day, as the person reads it.
    pub(super) fn day(&self, at: jiff::Timestamp) -> String {
        at.to_zoned(self.parts.zone.clone()).strftime("%Y-%m-%d").to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_of_hosts_keeps_the_sessions_of_its_agent() {
        for (family, agent) in [
            ("claude-code", Some(Agent::Claude)),
            ("codex", Some(Agent::Codex)),
            ("copilot-cli", Some(Agent::Copilot)),
            ("gemini-cli", Some(Agent::Gemini)),
            ("opencode", Some(Agent::Opencode)),
            ("qwen-code", Some(Agent::Qwen)),
            ("vscode", None),
            ("", None),
        ] {
            assert_eq!(agent_of(family), agent, "{family}");
        }
    }
}
