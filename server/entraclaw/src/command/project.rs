//! The project that a local model works in, and where its engine is reached.
//! It must never make anything.

use std::path::{Path, PathBuf};

use clap::Args;
use entraclaw_bridge::{Address, project_key};
use entraclaw_memory::context::repository;
use entraclaw_memory::files::DiskFiles;

use entraclaw_session::config::External;

/// The folder of all projects' conversations and sockets, below the home folder.
pub(super) const FOLDER: &str = "delegate";

/// The flag for the project.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct Given {
    /// The project [default: the nearest folder with .git, else the folder that you are in]
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
}

/// A project.
#[derive(Debug, Clone)]
pub(super) struct Project {
    /// Its folder, without symlinks.
    pub(super) root: PathBuf,
    /// Where its engine is reached.
    pub(super) address: Address,
    /// Where its conversation lies.
    pub(super) store: PathBuf,
}

impl Given {
    /// The project that is meant.
    pub(super) fn find(self, home: &Path, external: &External) -> Result<Project, String> {
        let folder = match self.project {
            Some(folder) => folder,
            None => std::env::current_dir()
                .map_err(|error| format!("the folder that you are in can't be used: {error}"))?,
        };
        let whole = folder
            .canonicalize()
            .map_err(|error| format!("{}: {error}; name a folder by --project", folder.display()))?;
        let root = repository(&DiskFiles, &whole).unwrap_or(&whole).to_owned();
        let address =
            Address::of(home, &root, external.socket_path.clone()).map_err(|error| error.to_string())?;
        let store = home.join(FOLDER).join(project_key(&root));
        Ok(Project { root, address, store })
    }
}
