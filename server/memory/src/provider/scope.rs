//! The workspace of a call, and which workspaces a call may name.
//!
//! A model may be told a path by a text that it reads, so a named workspace must be one that a person has opened: a folder
//! of the host, of this process, of the operator's list, or one that has a context file by this program. It must never let
//! a call reach another folder.

use std::path::{Path, PathBuf};

use super::failure::Failure;
use crate::context::{Contexts, WorkspaceHints, find_workspace, is_path, repository};
use crate::files::ContextFiles;

/// Most workspaces that a refusal names.
const NAMED_MAX: usize = 5;

/// Where this process stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// The variable `WORKSPACE`.
    pub workspace: Option<String>,
    /// The working folder of this process.
    pub cwd: PathBuf,
    /// Folders of the operator's list: each of them, and each folder below, may be named.
    pub more: Vec<PathBuf>,
}

impl Scope {
    /// The workspace of a call that names `parameter`, or none.
    pub(super) fn find(
        &self,
        files: &dyn ContextFiles,
        contexts: &Contexts,
        parameter: Option<&str>,
        roots: &[PathBuf],
    ) -> Result<PathBuf, Failure> {
        // What a host tells may lie on another machine.
        let root = roots.iter().find(|root| files.folder(root).is_some());
        let own = self.own(files, root);
        let Some(parameter) = parameter.filter(|text| is_path(text)) else { return Ok(own) };
        let named = own.join(parameter.trim());
        let Some(named) = files.folder(&named) else {
            let says = format!(
                "workspace: there is no folder {}; leave it out for {}",
                named.display(),
                own.display()
            );
            return Err(Failure::params(says));
        };
        if self.may_name(files, contexts, roots, &named) {
            return Ok(named);
        }
        let mut known: Vec<String> =
            std::iter::once(own.display().to_string()).chain(known(contexts)).collect();
        known.dedup();
        known.truncate(NAMED_MAX);
        Err(Failure::params(format!(
            "workspace: {} is not open here; there is {}. Your user opens another one by `entraclaw context init` in it, or by \
             `[context] workspaces` of the configuration",
            named.display(),
            known.join(", ")
        )))
    }

    fn own(&self, files: &dyn ContextFiles, root: Option<&PathBuf>) -> PathBuf {
        let hints = WorkspaceHints {
            parameter: None,
            environment: self.workspace.as_deref(),
            root: root.map(PathBuf::as_path),
            cwd: &self.cwd,
        };
        find_workspace(files, &hints)
    }

    fn may_name(
        &self,
        files: &dyn ContextFiles,
        contexts: &Contexts,
        roots: &[PathBuf],
        named: &Path,
    ) -> bool {
        let stated =
            self.workspace.as_deref().filter(|text| is_path(text)).map(|text| self.cwd.join(text.trim()));
        let repository = repository(files, &self.cwd).map(Path::to_owned);
        let open = roots.iter().chain(&self.more).cloned().chain(stated).chain(repository);
        let mut open = open.filter_map(|folder| files.folder(&folder));
        // The working folder is the host's choice, and may be the home folder or the root: nothing below it counts.
        open.any(|folder| named.starts_with(folder))
            || files.folder(&self.cwd).is_some_and(|cwd| cwd == named)
            || known(contexts)
                .any(|path| files.folder(Path::new(&path)).is_some_and(|folder| folder == named))
    }
}

/// The folders with a context file by this program.
fn known(contexts: &Contexts) -> impl Iterator<Item = String> {
    let known = contexts.workspaces().unwrap_or_default().into_iter();
    known.filter_map(|known| Some(Path::new(&known.path).parent()?.display().to_string()))
}
