//! `[context]`: shared context, and the search over all sessions.

use std::path::PathBuf;

use entraclaw_memory::context::is_file_name;

use super::key;
use super::load::Loader;

/// Settings for shared context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context {
    /// The name of the context file.
    pub file_name: String,
    /// Folders that a call may name, each with those below.
    pub workspaces: Vec<PathBuf>,
    /// The folder of a table of meanings, if there is to be one.
    pub meanings: Option<PathBuf>,
}

impl Loader {
    pub(super) fn context(&mut self) -> Context {
        let fix = "write a name without a folder, such as context.md";
        let name = |text: &str| is_file_name(text).then(|| text.to_owned());
        let file_name = self.parsed(&key::CONTEXT_FILE_NAME, ", which is no name of a file", fix, name);
        Context {
            file_name: file_name.unwrap_or_else(|| key::CONTEXT_FILE_NAME.default.to_owned()),
            workspaces: self.workspaces(),
            meanings: self.absolute_path(&key::CONTEXT_MEANINGS),
        }
    }

    fn workspaces(&mut self) -> Vec<PathBuf> {
        let Some((text, at)) = self.value(&key::CONTEXT_WORKSPACES) else { return Vec::new() };
        let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
        let (good, wrong): (Vec<PathBuf>, Vec<PathBuf>) =
            words.map(PathBuf::from).partition(|path| path.is_absolute());
        for path in wrong {
            let problem =
                format!("`context.workspaces` names `{}`, which is not an absolute path", path.display());
            self.error(&at, problem, "write it out from the root");
        }
        good
    }
}
