//! Which session is meant: by its id, the beginning of its id, its file, or as the newest of a folder.
//!
//! It must never read a file that lies in no store, nor choose between two that fit.

use std::path::{Path, PathBuf};

use super::find::Found;
use super::library::Library;
use super::session::{Agent, Session};
use crate::files::Standing;

/// Shortest beginning of an id. It is what the Copilot CLI takes.
const PREFIX_BYTES_MIN: usize = 7;
/// Most ids that an error names.
const NAMED_MAX: usize = 5;
/// Ids that are compared with one that was not found.
const COMPARED_MAX: usize = 2_000;
/// The word for the newest session of the workspace.
const CURRENT: &str = "current";

/// The session that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted<'a> {
    /// An id, at least seven characters of one, `AGENT/ID`, the path of its file, or `current`.
    pub session: &'a str,
    /// Whose it is; any agent's if nothing is said.
    pub agent: Option<Agent>,
    /// The folder whose newest session is `current`.
    pub workspace: &'a Path,
}

/// Why a session can't be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// There is none.
    #[error(
        "no session {wanted:?} is known{}; list the sessions, or search for what was said in it",
        near(nearest)
    )]
    NotFound {
        /// What was asked for.
        wanted: String,
        /// The sessions whose ids are nearest, as `AGENT/ID`.
        nearest: Vec<String>,
    },
    /// There are several.
    #[error("{wanted:?} fits several sessions; name one of {}", candidates.join(", "))]
    Ambiguous {
        /// What was asked for.
        wanted: String,
        /// The sessions that fit, as `AGENT/ID`, newest first.
        candidates: Vec<String>,
    },
    /// Its file fails.
    #[error("{} can't be read: {why}; check its permissions", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        why: String,
    },
}

impl SessionError {
    /// The name of the error in the design document.
    pub fn name(&self) -> &'static str {
        match self {
            Self::NotFound { .. } | Self::Ambiguous { .. } => "SESSION_NOT_FOUND",
            Self::Unreadable { .. } => "EXPORT_ERROR",
        }
    }
}

fn near(nearest: &[String]) -> String {
    if nearest.is_empty() { String::new() } else { format!("; near it are {}", nearest.join(", ")) }
}

impl Library {
    /// The session that is meant.
    pub fn pick(&mut self, wanted: &Wanted<'_>) -> Result<Found, SessionError> {
        let asked = crate::text::cut(wanted.session.trim(), 4_096);
        let (named, id) = by_agent(&asked);
        let agents = named.or(wanted.agent).map(|agent| [agent]);
        let agents = agents.as_ref().map(<[Agent; 1]>::as_slice);
        if id == CURRENT {
            let none = || SessionError::NotFound {
                wanted: format!("{CURRENT} of {}", wanted.workspace.display()),
                nearest: Vec::new(),
            };
            return self.newest_in(wanted.workspace, agents).ok_or_else(none);
        }
        let (files, _) = self.files_by_age(agents);
        if let Some((found, _)) = files.iter().find(|(found, _)| self.is_at(found, &asked)) {
            return Ok(found.clone());
        }
        let fitting = self.fitting(&files, id);
        match fitting.as_slice() {
            [] => Err(SessionError::NotFound {
                wanted: crate::text::safe_line(&asked, 80),
                nearest: self.nearest(&files, id),
            }),
            [(found, _)] => Ok(found.clone()),
            several => Err(SessionError::Ambiguous {
                wanted: crate::text::safe_line(&asked, 80),
                candidates: several.iter().take(NAMED_MAX).map(|(_, session)| full_name(session)).collect(),
            }),
        }
    }

    /// Whether a path names the file of a session, by whatever path its folder is reached.
    fn is_at(&self, found: &Found, path: &str) -> bool {
        let path = Path::new(path);
        if !path.is_absolute() || path.file_name() != found.path.file_name() {
            return false;
        }
        let folder = |path: &Path| path.parent().and_then(|parent| self.files().folder(parent));
        path == found.path || folder(path).is_some_and(|given| folder(&found.path) == Some(given))
    }

    /// The sessions of this id, else those whose ids begin with it; of each the newest file with a word in it.
    fn fitting(&mut self, files: &[(Found, Standing)], id: &str) -> Vec<(Found, Session)> {
        let mut whole: Vec<(Found, Session)> = Vec::new();
        let mut begun: Vec<(Found, Session)> = Vec::new();
        for (found, standing) in files.iter().filter(|(found, _)| found.may_have_id(id)) {
            let Ok(session) = self.peek(found, *standing) else { continue };
            let into = if session.id == id {
                &mut whole
            } else if id.len() >= PREFIX_BYTES_MIN && session.id.starts_with(id) {
                &mut begun
            } else {
                continue;
            };
            let same = |(_, known): &(Found, Session)| known.agent == session.agent && known.id == session.id;
            match into.iter_mut().find(|known| same(known)) {
                Some(known) if known.1.is_begun_again() => *known = (found.clone(), session),
                Some(_) => {}
                None => into.push((found.clone(), session)),
            }
        }
        if whole.is_empty() { begun } else { whole }
    }

    fn nearest(&mut self, files: &[(Found, Standing)], id: &str) -> Vec<String> {
        let id = crate::text::cut_bytes(id, 64);
        let mut ranked: Vec<(usize, usize)> = Vec::new();
        for (at, (found, _)) in files.iter().take(COMPARED_MAX).enumerate() {
            if let Some(known) = found.named_id() {
                let common = known.bytes().zip(id.bytes()).take_while(|(a, b)| a == b).count();
                let distance =
                    strsim::osa_distance(id, crate::text::cut_bytes(known, 64)).saturating_sub(common);
                ranked.push((distance, at));
            }
        }
        ranked.sort_unstable();
        let mut names = Vec::new();
        for (_, at) in ranked {
            if names.len() >= NAMED_MAX {
                break;
            }
            let (found, standing) = &files[at];
            if let Ok(session) = self.peek(found, *standing)
                && let name = full_name(&session)
                && !names.contains(&name)
            {
                names.push(name);
            }
        }
        names
    }
}

/// `AGENT/ID`, which names a session among those of all agents.
pub fn full_name(session: &Session) -> String {
    format!("{}/{}", session.agent.as_str(), session.id)
}

fn by_agent(asked: &str) -> (Option<Agent>, &str) {
    let split = asked.split_once('/').and_then(|(agent, id)| Some((Agent::by_name(agent)?, id)));
    split.map_or((None, asked), |(agent, id)| (Some(agent), id))
}
