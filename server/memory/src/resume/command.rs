//! The command line that goes on with a session.
//!
//! It must never hold a word of the session but its id and its folder.

use entraclaw_seams::processes::Processes;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::rows::{Id, row};
use super::running::{Running, running};
use super::shell::quoted;
use crate::stores::{Agent, Library, Session, SessionError, Wanted};

/// How a session goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Resume {
    /// The command, quoted for a POSIX shell.
    pub command: String,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The folder in which the session worked.
    pub folder: Option<String>,
    /// Whether the command works in this folder only.
    pub needs_folder: bool,
    /// The command with a change to the folder before it, where that is needed.
    pub command_line: String,
    /// Whose session it is.
    pub agent: Agent,
    /// The session's id.
    pub session_id: String,
    /// What it is about.
    pub title: String,
    /// The version of the agent's program that wrote last.
    pub version: Option<String>,
    /// Whether the session runs now.
    pub running: Running,
    /// When it last grew, as RFC 3339.
    pub last: Option<String>,
    /// What a person must know besides.
    pub note: Option<String>,
}

/// How the session that is meant goes on.
///
/// # Errors
/// Says why the session can't be had.
pub fn resume(
    library: &mut Library,
    processes: &dyn Processes,
    wanted: &Wanted<'_>,
) -> Result<Resume, SessionError> {
    let whole = crate::export::whole(library, wanted)?;
    Ok(Resume::of(&whole.session, running(library, processes, &whole.session)))
}

impl Resume {
    /// How this session goes on.
    pub fn of(session: &Session, running: Running) -> Self {
        let row = row(session.agent);
        let mut argv = vec![row.program.to_owned()];
        match row.id {
            Id::After(words) => {
                argv.extend(words.iter().map(|word| (*word).to_owned()));
                argv.push(session.id.clone());
            }
            Id::Joined(flag) => argv.push(format!("{flag}{}", session.id)),
            Id::Folder => argv.extend(session.folder.clone()),
        }
        let command = quoted(&argv);
        let needs_folder = row.needs_folder && row.id != Id::Folder;
        let folder = session.folder.as_ref().filter(|_| needs_folder);
        let command_line = folder.map_or_else(
            || command.clone(),
            |folder| format!("cd {} && {command}", quoted(&["--".to_owned(), folder.clone()])),
        );
        Self {
            command,
            argv,
            folder: session.folder.clone(),
            needs_folder,
            command_line,
            agent: session.agent,
            session_id: session.id.clone(),
            title: crate::export::title(session),
            version: session.version.clone(),
            running,
            last: session.last.map(|at| Timestamp::from_second(at.as_second()).unwrap_or(at).to_string()),
            note: row.note.map(str::to_owned),
        }
    }
}
