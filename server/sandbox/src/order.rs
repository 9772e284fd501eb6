//! What the parent tells the stages of the sandbox, as one line of JSON.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

#[cfg(target_os = "linux")]
use crate::pin::Pin;
#[cfg(target_os = "linux")]
use crate::policy::Policy;

/// A command as words; no shell reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandLine {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// The folder that it starts in.
    pub folder: PathBuf,
    /// Variables beside those that every command has.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
}

impl CommandLine {
    /// A command in a folder.
    pub fn new(words: impl IntoIterator<Item = impl Into<String>>, folder: impl Into<PathBuf>) -> Self {
        Self {
            words: words.into_iter().map(Into::into).collect(),
            folder: folder.into(),
            environment: BTreeMap::new(),
        }
    }

    /// The command as one line to show, never to run.
    pub fn shown(&self) -> String {
        match self.words.as_slice() {
            [shell, flag, script] if flag == "-c" && (shell.ends_with("bash") || shell.ends_with("sh")) => {
                script.clone()
            }
            words => words.join(" "),
        }
    }
}

/// What the stages are to do.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) command: CommandLine,
    pub(crate) policy: Policy,
    pub(crate) grants: Vec<Pin>,
    /// Existing files and folders below the writable ones that stay as they are.
    pub(crate) kept: Vec<Pin>,
    /// The private folder of the task: `tmp` and `home` are granted, `run` is the stages'.
    pub(crate) private: PathBuf,
    /// Where the stages tell of the end.
    pub(crate) run: PathBuf,
    /// Whether namespaces are entered. Without them the person has approved the command.
    pub(crate) namespaces: bool,
    /// Whether everything must be enforced.
    pub(crate) whole: bool,
}
