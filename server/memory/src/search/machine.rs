//! A machine with sessions in memory, for the tests of the search.
//!
//! It must never touch a real file.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use entraclaw_seams::clock::Clock;
use entraclaw_seams::storage::{MemoryStorage, Storage as _};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::memory::Memory;
use super::parts::{IndexPlace, MemoryError, MemoryParts};
use crate::files::SimulatedFiles;
use crate::stores::{Agent, Homes, Message, Place, Role, Session, System};

/// The time on the machine.
pub(super) const NOW: &str = "2026-11-26T12:00:00Z";

struct Fixed;

impl Clock for Fixed {
    fn now(&self) -> Timestamp {
        NOW.parse().unwrap()
    }
}

/// A machine with sessions of Claude Code.
pub(super) struct Machine {
    pub(super) storage: MemoryStorage,
}

impl Machine {
    pub(super) fn new() -> Self {
        Self { storage: MemoryStorage::new() }
    }

    pub(super) fn open(&self) -> Memory {
        self.try_open(IndexPlace::Memory).unwrap()
    }

    pub(super) fn try_open(&self, index: IndexPlace) -> Result<Memory, MemoryError> {
        let clock: Arc<dyn Clock> = Arc::new(Fixed);
        Memory::open(MemoryParts {
            storage: Arc::new(self.storage.clone()),
            files: Arc::new(SimulatedFiles::new(self.storage.clone(), Arc::clone(&clock))),
            homes: Homes {
                home: PathBuf::from("/home/alice"),
                variables: BTreeMap::new(),
                system: System::Linux,
            },
            clock,
            index,
            meanings: None,
        })
    }

    pub(super) fn path(session: &str) -> String {
        format!("home/alice/.claude/projects/-p/{session}.jsonl")
    }

    /// Adds a message, without a time if none is given.
    pub(super) fn say(&self, session: &str, role: &str, text: &str, at: Option<&str>) {
        self.line(session, &json!({"type": role, "message": {"content": text}, "timestamp": at}));
    }

    /// Adds a call of a tool.
    pub(super) fn call(&self, session: &str, tool: &str, text: &str) {
        let block = json!({"type": "tool_use", "name": tool, "input": {"command": text}});
        self.line(session, &json!({"type": "assistant", "message": {"content": [block]}}));
    }

    pub(super) fn line(&self, session: &str, line: &Value) {
        self.storage.create_dir("home/alice/.claude/projects/-p").unwrap();
        let mut file = self.storage.append(&Self::path(session), true).unwrap();
        file.append(format!("{line}\n").as_bytes()).unwrap();
    }
}

/// The session of a file.
pub(super) fn id(memory: &Memory, file: u64) -> &str {
    &memory.catalog.files[&file].mark.session.id
}

pub(super) fn session(id: &str, title: Option<&str>, file: &str) -> Session {
    Session {
        agent: Agent::Claude,
        id: id.to_owned(),
        folder: None,
        title: title.map(str::to_owned),
        version: None,
        started: None,
        last: None,
        file: file.into(),
    }
}

pub(super) fn message(role: Role, text: &str) -> Message {
    Message { role, text: text.to_owned(), at: None, tool: None, is_side: false, place: Place::default() }
}
