//! The task of a job of the kind `agent`, as it is in the job's request.
//! It must never hold the value of a variable: the job's process takes values from its own environment.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::agent::{Agent, by_name};
use crate::command_line::CommandLine;
use crate::find::Found;
use crate::models::IfListed;

/// The kind of these jobs.
pub const KIND: &str = "agent";

/// One question, ready to be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// The name of the agent.
    pub agent: String,
    /// The version of its program, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The input of the program, if it reads the prompt from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// Its working folder.
    pub folder: PathBuf,
    /// Whether its output is a report in its own language, and not the answer alone.
    pub reports: bool,
    /// The session, if it is known before it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The model that is asked for, if one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The model that is asked for too if the program lists it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_listed: Option<IfListed>,
    /// What it may do.
    pub permissions: String,
    /// Whether the caller's user is asked to permit what the agent's program asks for.
    #[serde(default)]
    pub asks_user: bool,
    /// How many agents may run at once.
    pub at_once: u32,
    /// How a process that stands by is asked; `None` where none may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm: Option<Warm>,
}

/// A question for a process that stands by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Warm {
    /// The process that must stand by.
    pub line: WarmLine,
    /// The whole prompt.
    pub prompt: String,
    /// The session to go on with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumes: Option<String>,
}

/// A process that stands by for questions of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WarmLine {
    /// The name of the agent.
    pub agent: String,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// A model that it is started with if it lists it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_listed: Option<IfListed>,
    /// Its working folder.
    pub folder: PathBuf,
}

impl WarmLine {
    /// The agent's row, or why there is none.
    pub(crate) fn row(&self) -> Result<&'static Agent, String> {
        by_name(&self.agent)
    }
}

impl Task {
    /// The task for a command line.
    pub fn new(agent: &Agent, found: &Found, line: CommandLine, folder: PathBuf) -> Self {
        let program = found.path.to_string_lossy().into_owned();
        Self {
            agent: agent.name.to_owned(),
            version: found.version.clone(),
            argv: std::iter::once(program).chain(line.arguments).collect(),
            input: line.input,
            folder,
            reports: line.dialect != crate::agent::Dialect::Text,
            session: line.session,
            model: line.model,
            if_listed: line
                .if_listed
                .zip(found.identity())
                .map(|(model, program)| IfListed { model: model.to_owned(), program }),
            permissions: String::new(),
            asks_user: false,
            at_once: 1,
            warm: None,
        }
    }

    /// Sets the folder in which the agent works.
    pub(crate) fn works_in(&mut self, folder: PathBuf) {
        if let Some(warm) = &mut self.warm {
            warm.line.folder.clone_from(&folder);
        }
        self.folder = folder;
    }

    /// The agent's row, or why there is none.
    pub(crate) fn row(&self) -> Result<&'static Agent, String> {
        by_name(&self.agent)
    }
}
