//! `entraclaw recall --forget`: shows what would never be found again, and does it when told to.
//!
//! It must never touch an agent's store: what is forgotten stays in it, and the words say so.

use std::fmt::Write as _;
use std::path::Path;

use entraclaw_memory::search::{Forget, Forgotten, Memory};
use entraclaw_memory::stores::Agent;
use entraclaw_memory::text::safe_line;

use entraclaw_session::status::amount::counted;

/// Most sessions that are named, and most characters of a title.
const NAMED_MAX: usize = 20;
const TITLE_CHARS: usize = 60;

/// What the query stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum What {
    /// Messages with all these words, now and later
    Words,
    /// The session with this id
    Session,
    /// The sessions that have begun in this folder or below it so far
    Workspace,
}

/// What is to be forgotten, as a person has named it.
pub(super) struct Wish<'a> {
    pub(super) what: What,
    pub(super) query: &'a str,
    pub(super) agent: Option<Agent>,
    /// The working folder, in which a folder without a root is meant.
    pub(super) cwd: &'a Path,
}

/// Shows what would go, or lets it go if `is_meant`.
pub(super) fn forget(memory: &mut Memory, wish: &Wish<'_>, is_meant: bool) -> Result<String, String> {
    let said = |error: entraclaw_memory::search::MemoryError| error.to_string();
    let forget = match wish.what {
        What::Words => Forget::Words(wish.query.to_owned()),
        What::Workspace => Forget::Workspace(wish.cwd.join(wish.query.trim()).display().to_string()),
        What::Session => session(memory, wish)?,
    };
    if is_meant {
        let gone = memory.forget(&forget).map_err(said)?;
        let end = "They are not found again; the agents' own files still have them.";
        return Ok(format!("forgot {}\n{end}\n", listed(&gone)));
    }
    let would = memory.would_forget(&forget).map_err(said)?;
    let end = "Nothing is forgotten yet; add --yes to do it. The agents' own files will still have it.";
    Ok(format!("would forget {}\n{end}\n", listed(&would)))
}

/// The session with this id, whichever agent's it is.
fn session(memory: &mut Memory, wish: &Wish<'_>) -> Result<Forget, String> {
    let id = wish.query.trim();
    let agents = wish.agent.map_or_else(|| Agent::ALL.to_vec(), |agent| vec![agent]);
    for agent in agents {
        let forget = Forget::Session { agent, id: id.to_owned() };
        let found = memory.would_forget(&forget).map_err(|error| error.to_string())?;
        if !found.sessions.is_empty() {
            return Ok(forget);
        }
    }
    let id = safe_line(id, TITLE_CHARS);
    Err(format!("no session has the id {id}; `entraclaw recall QUERY --json` tells the ids"))
}

fn listed(forgotten: &Forgotten) -> String {
    let messages = counted(forgotten.messages as u64, "message");
    let sessions = counted(forgotten.sessions.len() as u64, "session");
    let mut out = format!("{messages} in {sessions}");
    for session in forgotten.sessions.iter().take(NAMED_MAX) {
        let title = safe_line(session.title.as_deref().unwrap_or_default(), TITLE_CHARS);
        let _ =
            write!(out, "\n  {} {}  {title}", session.agent.as_str(), safe_line(&session.id, TITLE_CHARS));
    }
    let left = forgotten.sessions.len().saturating_sub(NAMED_MAX);
    if left > 0 {
        let _ = write!(out, "\n  and {left} more");
    }
    out
}
