//! The provider of shared context and of the search over all sessions, from the parts of the server.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use entraclaw_inbox::tool::ToolSet;
use entraclaw_memory::files::{ContextFiles, SimulatedFiles};
use entraclaw_memory::provider::{Beside, ContextParts, ContextProvider, Scope};
use entraclaw_memory::search::IndexPlace;
use entraclaw_memory::stores::{Homes, System};
use entraclaw_seams::clock::Clock;
use entraclaw_seams::storage::MemoryStorage;
use jiff::tz::TimeZone;

use super::App;

/// What the provider needs of the machine.
pub struct ContextSeams {
    /// The files of the workspaces and of the agents.
    pub files: Arc<dyn ContextFiles>,
    /// Where the agents keep their sessions.
    pub homes: Homes,
    /// The person's time zone.
    pub zone: TimeZone,
    /// Where the index of the search is.
    pub index: IndexPlace,
    /// The variable `WORKSPACE`.
    pub workspace: Option<String>,
    /// The working folder.
    pub cwd: PathBuf,
    /// Where files are touched.
    pub beside: Beside,
}

impl ContextSeams {
    /// A simulated machine with these files.
    pub fn simulated(files: MemoryStorage, clock: Arc<dyn Clock>, home: PathBuf, cwd: PathBuf) -> Self {
        Self {
            files: Arc::new(SimulatedFiles::new(files, clock)),
            homes: Homes { home, variables: BTreeMap::new(), system: System::Linux },
            zone: TimeZone::UTC,
            index: IndexPlace::Memory,
            workspace: None,
            cwd,
            beside: Beside::Here,
        }
    }
}

/// The provider, if the operator chose its tools.
pub(super) fn provider(app: &App) -> Option<ContextProvider> {
    let (seams, settings) = (&app.context, &app.config.context);
    let parts = || ContextParts {
        storage: app.storage.clone(),
        files: seams.files.clone(),
        homes: seams.homes.clone(),
        processes: app.processes.clone(),
        clock: app.clock.clone(),
        zone: seams.zone.clone(),
        index: seams.index.clone(),
        meanings: settings.meanings.clone(),
        file_name: settings.file_name.clone(),
        scope: Scope {
            workspace: seams.workspace.clone(),
            cwd: seams.cwd.clone(),
            more: settings.workspaces.clone(),
        },
        beside: seams.beside,
    };
    app.config.tools.contains(&ToolSet::Context).then(|| ContextProvider::new(parts()))
}
