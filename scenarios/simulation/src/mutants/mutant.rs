//! One fault, and how it is put into the server.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use entraclaw_delegate::{Submission, Toolbox};
use entraclaw_memory::files::ContextFiles;
use entraclaw_microsoft::http::HttpTransport;
use entraclaw_models::Model;
use entraclaw_seams::processes::Processes;
use entraclaw_seams::programs::Programs;
use entraclaw_seams::storage::Storage;
use entraclaw_seams::storage::memory::MemoryStorage;
use tokio::io::DuplexStream;

use super::{agents, delegate, disk, files, graph, pipe, speech};

/// A server with one fault.
#[derive(Debug)]
pub struct Mutant {
    /// Its name on the command line and in reports.
    pub id: &'static str,
    /// The fault, in words.
    pub does: &'static str,
    /// The rule that must catch it.
    pub rule: &'static str,
    /// Text that the finding must hold too, such as a wire rule.
    pub names: &'static str,
    /// The scenario in which it must be caught.
    pub scenario: &'static str,
    /// The host on which it must be caught.
    pub host: &'static str,
    /// The fault and its place.
    pub(super) way: Way,
}

/// Where a fault is put in.
#[derive(Debug, Clone, Copy)]
pub(super) enum Way {
    /// The lines that the server writes.
    Speaks(speech::Change),
    /// The lines that the server reads.
    Hears(speech::Change),
    /// The server's disk.
    Disk(disk::Fault),
    /// The server's client of Graph.
    Graph(graph::Fault),
    /// Its way to run programs of other agents.
    Agents(agents::Fault),
    /// The files of workspaces and of other agents.
    Files(files::Fault),
    /// The engine of the local model.
    Delegate(delegate::Fault),
    /// One of its settings.
    Setting(&'static str, &'static str),
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
        transport: Arc<dyn HttpTransport>,
        environment: &BTreeMap<String, String>,
    ) -> Arc<dyn HttpTransport> {
        match self.way {
            Way::Graph(fault) => {
                let allowlist = environment.get("ENTRACLAW_ALLOW").map_or("", String::as_str);
                Arc::new(graph::FaultyClient::new(transport, fault, allowlist))
            }
            _ => transport,
        }
    }

    /// The files of workspaces and of other agents, as it sees them.
    pub(crate) fn files(&self, inner: Arc<dyn ContextFiles>) -> Arc<dyn ContextFiles> {
        match self.way {
            Way::Files(fault) => Arc::new(files::FaultyFiles { inner, fault }),
            _ => inner,
        }
    }

    /// What a person types, as its engine takes it.
    pub(crate) fn submission(&self, submission: Submission) -> Submission {
        match self.way {
            Way::Delegate(fault) => delegate::submission(fault, submission),
            _ => submission,
        }
    }

    /// The local model, as its engine asks it.
    pub(crate) fn model(&self, inner: Arc<dyn Model>) -> Arc<dyn Model> {
        match self.way {
            Way::Delegate(fault) => Arc::new(delegate::FaultyModel { inner, fault }),
            _ => inner,
        }
    }

    /// The tools of a project, as its engine runs them.
    pub(crate) fn toolbox(&self, inner: Arc<dyn Toolbox>, project: &Path) -> Arc<dyn Toolbox> {
        match self.way {
            Way::Delegate(fault) => {
                Arc::new(delegate::FaultyToolbox { inner, fault, project: project.to_owned() })
            }
            _ => inner,
        }
    }

    /// Whether its engine begins with an empty store when it is started again.
    pub(crate) fn loses_its_store(&self) -> bool {
        matches!(self.way, Way::Delegate(delegate::Fault::LosesItsStore))
    }

    /// The programs of other agents, as it runs them.
    pub(crate) fn programs(&self, inner: Arc<dyn Programs>) -> Arc<dyn Programs> {
        match self.way {
            Way::Agents(fault) => Arc::new(agents::FaultyPrograms { inner, fault }),
            _ => inner,
        }
    }

    /// The processes of the machine, as it ends them.
    pub(crate) fn processes(&self, inner: Arc<dyn Processes>) -> Arc<dyn Processes> {
        match self.way {
            Way::Agents(agents::Fault::LeavesGrandchildren) => Arc::new(agents::FaultyProcesses(inner)),
            _ => inner,
        }
    }
}
