//! Finds the workspace whose context file is meant.
//!
//! It must never take a text for a path that a host has left as a placeholder.

use std::path::{Path, PathBuf};

use crate::files::Files;

/// What may say where the workspace is.
#[derive(Debug, Clone, Copy)]
pub struct WorkspaceHints<'a> {
    /// The parameter of the call.
    pub parameter: Option<&'a str>,
    /// The variable `WORKSPACE`.
    pub environment: Option<&'a str>,
    /// The first root that the host names.
    pub root: Option<&'a Path>,
    /// The working folder of this process.
    pub cwd: &'a Path,
}

/// The workspace: the first of the parameter, the variable, the host's root, the nearest folder with `.git`, and the
/// working folder. The design document puts the variable before the parameter, which would then have no effect where a
/// host sets the variable, as the document's own examples do; its implementation reads the parameter first.
pub fn find_workspace(files: &(impl Files + ?Sized), hints: &WorkspaceHints<'_>) -> PathBuf {
    let stated = [hints.parameter, hints.environment].into_iter().flatten().find(|text| is_path(text));
    if let Some(path) = stated {
        return hints.cwd.join(path.trim());
    }
    if let Some(root) = hints.root {
        return root.to_owned();
    }
    repository(files, hints.cwd).unwrap_or(hints.cwd).to_owned()
}

/// The nearest folder with `.git`, from a folder up.
pub fn repository<'a>(files: &(impl Files + ?Sized), folder: &'a Path) -> Option<&'a Path> {
    folder.ancestors().find(|folder| files.exists(&folder.join(".git")))
}

/// `${workspaceFolder}` and `${PWD}` stand in the document's examples, and not every host fills them in.
pub(crate) fn is_path(text: &str) -> bool {
    !text.trim().is_empty() && !text.contains("${")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use entraclaw_seams::clock::SystemClock;
    use entraclaw_seams::storage::MemoryStorage;
    use rstest::rstest;

    use super::*;
    use crate::files::SimulatedFiles;

    #[rstest]
    #[case(Some("/env"), Some("/parameter"), Some("/root"), "/repository/sub", "/parameter")]
    #[case(Some("/env"), Some("${PWD}"), Some("/root"), "/repository/sub", "/env")]
    #[case(Some("${workspaceFolder}"), None, Some("/root"), "/repository/sub", "/root")]
    #[case(Some(" "), Some("other"), None, "/repository/sub", "/repository/sub/other")]
    #[case(None, None, Some("/root"), "/repository/sub", "/root")]
    #[case(None, None, None, "/repository/sub", "/repository")]
    #[case(None, None, None, "/elsewhere/sub", "/elsewhere/sub")]
    fn the_first_hint_decides(
        #[case] environment: Option<&str>,
        #[case] parameter: Option<&str>,
        #[case] root: Option<&str>,
        #[case] cwd: &str,
        #[case] found: &str,
    ) {
        let storage = MemoryStorage::new();
        storage.set_bytes("repository/.git/HEAD", b"ref");
        let files = SimulatedFiles::new(storage, Arc::new(SystemClock));
        let hints = WorkspaceHints { parameter, environment, root: root.map(Path::new), cwd: Path::new(cwd) };
        assert_eq!(find_workspace(&files, &hints), Path::new(found));
    }
}
