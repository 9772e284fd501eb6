//! What there is in the stores: how many sessions, and what of the newest ones is not understood.
//!
//! It must never read more than it is allowed to, so that a check of a large store is short.

use std::path::PathBuf;

use jiff::Timestamp;

use super::library::Library;
use super::read::read;
use super::session::Agent;
use super::tally::Tally;

/// How much is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Depth {
    /// Most files of each agent.
    pub files_max: usize,
    /// Most bytes of each agent.
    pub bytes_max: u64,
}

/// The store of one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surveyed {
    /// Whose it is.
    pub agent: Agent,
    /// Files of sessions; those of sub-agents are left out.
    pub sessions: usize,
    /// When the newest one was last written.
    pub newest: Option<Timestamp>,
    /// How many of the newest ones were read.
    pub read: usize,
    /// What was not understood in them.
    pub tally: Tally,
    /// Files and folders that can't be read, each with the reason.
    pub troubles: Vec<(PathBuf, String)>,
}

/// Looks at the stores of all agents; one without a session and without trouble is left out.
pub fn survey(library: &Library, depth: Depth) -> Vec<Surveyed> {
    let mut surveyed = Vec::new();
    for agent in Agent::ALL {
        let (files, troubles) = library.files_by_age(Some(&[agent]));
        let of_agent = |path: &PathBuf| library.homes().of(agent).iter().any(|home| path.starts_with(home));
        let troubles = troubles.into_iter().filter(|(path, _)| of_agent(path)).collect();
        let newest = files.first().map(|(_, standing)| standing.modified);
        let sessions = files.len();
        let mut found = Surveyed { agent, sessions, newest, read: 0, tally: Tally::default(), troubles };
        let mut bytes: u64 = 0;
        for (file, standing) in files.into_iter().take(depth.files_max) {
            bytes = bytes.saturating_add(standing.bytes);
            if bytes > depth.bytes_max && found.read > 0 {
                break;
            }
            match read(library.files(), &file, None) {
                Ok(batch) => {
                    found.read += 1;
                    found.tally.add(&batch.map(|batch| batch.tally).unwrap_or_default());
                }
                Err(error) => found.troubles.push((file.path, error.to_string())),
            }
        }
        if found.sessions > 0 || !found.troubles.is_empty() {
            surveyed.push(found);
        }
    }
    surveyed
}
