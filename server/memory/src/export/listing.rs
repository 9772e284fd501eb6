//! Lists of sessions.
//!
//! It must never read all sessions of a machine: it is bounded, and says how many files it did not read.

use std::path::PathBuf;

use entraclaw_seams::processes::Processes;
use schemars::JsonSchema;
use serde::Serialize;

use super::markdown::{day, title};
use crate::resume::{Running, running};
use crate::stores::{Agent, Library};

/// Most sessions of a list.
const SESSIONS_MAX: usize = 500;

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    /// The session's id.
    pub id: String,
    /// What it is about.
    pub title: String,
    /// The day on which it last grew, as `YYYY-MM-DD`.
    pub date: String,
    /// What the person and the agent said, in messages.
    pub message_count: usize,
    /// The file that holds it.
    pub file_path: String,
    /// Whose it is.
    pub agent: Agent,
    /// The folder it works in.
    pub folder: Option<String>,
    /// Whether it runs now.
    pub running: Running,
}

/// A list of sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// The sessions, newest first.
    pub sessions: Vec<Listed>,
    /// Files of further sessions, which were not read.
    pub left_off: usize,
    /// Files and folders that can't be read, each with the reason.
    pub troubles: Vec<(PathBuf, String)>,
}

/// The newest sessions of these agents.
pub fn list(library: &mut Library, processes: &dyn Processes, agents: &[Agent], count_max: usize) -> Listing {
    let newest = library.newest(agents, count_max.min(SESSIONS_MAX));
    let sessions = newest.sessions.into_iter().map(|counted| {
        let running = running(library, processes, &counted.session);
        let session = counted.session;
        Listed {
            title: title(&session),
            date: day(session.last.unwrap_or(counted.modified)),
            message_count: counted.messages,
            file_path: session.file.display().to_string(),
            agent: session.agent,
            folder: session.folder,
            running,
            id: session.id,
        }
    });
    Listing { sessions: sessions.collect(), left_off: newest.left_off, troubles: newest.troubles }
}
