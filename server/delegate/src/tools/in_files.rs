//! The tools that read and write files and run nothing.
//! It must never wait for anything but the disk.

use std::path::Path;
use std::sync::Arc;

use entraclaw_models::ToolRequest;
use tokio::sync::watch;

use super::outcome::failed;
use super::root::Root;
use super::{arguments, edit, files, find, schemas};
use crate::tool::ToolOutcome;

/// The tools that read and write the files of one project. A clone is the same project.
#[derive(Debug, Clone)]
pub struct FileTools {
    root: Arc<Root>,
}

impl FileTools {
    /// The tools of this folder.
    ///
    /// # Errors
    /// Fails if the folder can't be opened.
    pub fn new(folder: &Path) -> std::io::Result<Self> {
        Self::standing_for(folder, folder)
    }

    /// The same for a folder that stands for the project: a path within the project is meant in it.
    pub(super) fn standing_for(folder: &Path, project: &Path) -> std::io::Result<Self> {
        Ok(Self { root: Arc::new(Root::new(folder, project)?) })
    }

    pub(super) fn root(&self) -> &Root {
        &self.root
    }

    /// Runs one of them in the caller's thread. Another tool is refused by name.
    pub fn run(&self, request: &ToolRequest, stop: &watch::Receiver<bool>) -> ToolOutcome {
        self.dispatch(request, stop).unwrap_or_else(|why| failed(&why))
    }

    /// Learns that this one ran when an earlier process died, and takes away what is only its own.
    pub fn cut_short(&self, request: &ToolRequest) {
        let path = request.arguments["path"].as_str().map(|path| self.root.relative(path));
        if let ("write_file" | "edit_file", Some(Ok(path))) = (request.name.as_str(), path) {
            self.root.sweep(&path);
        }
    }

    fn dispatch(&self, request: &ToolRequest, stop: &watch::Receiver<bool>) -> Result<ToolOutcome, String> {
        let root = self.root();
        match request.name.as_str() {
            "read_file" => files::read(root, &arguments(request)?),
            "write_file" => files::write(root, &arguments(request)?),
            "edit_file" => edit::edit(root, &arguments(request)?),
            "glob" => find::glob(root, &arguments(request)?, stop),
            "grep" => find::grep(root, &arguments(request)?, stop),
            name => Err(format!("there is no tool {name:?}; use one of {}", schemas::names())),
        }
    }
}
