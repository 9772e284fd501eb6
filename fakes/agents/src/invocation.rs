//! How an agent was started, and what it can see of the machine. Both are handed in, so that a plan is the same for the
//! same input.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// One start of the program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Invocation {
    /// The arguments, without the program's name.
    pub argv: Vec<String>,
    /// The environment.
    pub environment: BTreeMap<String, String>,
    /// The folder that it was started in.
    pub folder: PathBuf,
    /// What came on stdin, once that was read to its end.
    pub stdin: Option<Vec<u8>>,
    /// Nothing came on stdin for as long as the program waits.
    pub stdin_is_silent: bool,
    /// When it was started, in milliseconds since 1970.
    pub started_unix_ms: i64,
    /// From which its ids are made.
    pub seed: u64,
}

impl Invocation {
    /// A variable that is set and not empty.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.environment.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// A path below the work folder, without steps upwards in it.
    pub(crate) fn path(&self, path: &Path) -> PathBuf {
        let mut whole = PathBuf::new();
        for part in self.folder.join(path).components() {
            match part {
                Component::ParentDir => {
                    whole.pop();
                }
                Component::CurDir => {}
                part => whole.push(part),
            }
        }
        whole
    }
}

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathKind {
    /// Nothing.
    Missing,
    /// A file.
    File,
    /// A folder.
    Folder,
}

/// What the program finds on the machine.
pub trait Outside {
    /// What stands at a path.
    fn kind(&self, path: &Path) -> PathKind;
    /// A file of the store, by its path below the store's folder.
    fn stored(&self, path: &str) -> Option<String>;
    /// The names in a folder of the store, the one that changed last at the end.
    fn list(&self, folder: &str) -> Vec<String>;
}

/// A machine where every folder exists and nothing is stored.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nothing;

impl Outside for Nothing {
    fn kind(&self, _path: &Path) -> PathKind {
        PathKind::Folder
    }

    fn stored(&self, _path: &str) -> Option<String> {
        None
    }

    fn list(&self, _folder: &str) -> Vec<String> {
        Vec::new()
    }
}
