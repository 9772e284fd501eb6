//! What calls share on a machine in memory, for the tests of the provider.
//!
//! It must never touch a real file.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use entraclaw_seams::clock::Clock;
use entraclaw_seams::processes::SimulatedProcesses;
use entraclaw_seams::storage::MemoryStorage;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::beside::Beside;
use super::scope::Scope;
use super::shared::{ContextParts, Shared};
use crate::files::SimulatedFiles;
use crate::search::IndexPlace;
use crate::stores::{Homes, System};

struct Fixed;

impl Clock for Fixed {
    fn now(&self) -> Timestamp {
        "2026-11-26T12:00:00Z".parse().unwrap()
    }
}

/// A machine on which these files are, empty.
pub(super) fn shared(paths: &[&str]) -> (MemoryStorage, Shared) {
    let storage = MemoryStorage::new();
    for path in paths {
        storage.set_bytes(path, b"");
    }
    let clock: Arc<dyn Clock> = Arc::new(Fixed);
    let shared = Shared::new(ContextParts {
        files: Arc::new(SimulatedFiles::new(storage.clone(), Arc::clone(&clock))),
        storage: Arc::new(storage.clone()),
        homes: Homes {
            home: PathBuf::from("/home/alice"),
            variables: BTreeMap::new(),
            system: System::Linux,
        },
        processes: Arc::new(SimulatedProcesses::default()),
        clock,
        zone: TimeZone::fixed(jiff::tz::offset(2)),
        index: IndexPlace::Memory,
        meanings: None,
        file_name: "context.md".to_owned(),
        scope: Scope { cwd: PathBuf::from("/p"), ..Scope::default() },
        beside: Beside::Here,
    });
    (storage, shared)
}
