//! The answer of `recall` as a document.
//!
//! It must never hold a text that was not made safe to show.

use entraclaw_memory::resume::{Resume, running};
use entraclaw_memory::search::{Answer, SessionHit};
use entraclaw_memory::stores::{Agent, Library, Role};
use entraclaw_memory::text::safe_line;
use entraclaw_seams::processes::SystemProcesses;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Longest query that is shown, in characters.
const QUERY_CHARS: usize = 200;

/// The document that `entraclaw recall --json` prints.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Recalled {
    /// The version of this format: 1.
    pub v: u32,
    /// What was looked for.
    pub query: String,
    /// All sessions that were found.
    pub total: usize,
    /// Whether there may be more: a phrase of common words stands in too many places to look at all.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
    /// The best of them, best first.
    pub sessions: Vec<RecalledSession>,
    /// Files and folders of agents that can't be read.
    pub unreadable: usize,
}

/// A session in which something was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecalledSession {
    /// Whose it is.
    pub agent: Agent,
    /// Its id.
    pub id: String,
    /// What it is about.
    pub title: String,
    /// The folder in which it worked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The file that holds it.
    pub file: String,
    /// The version of the agent's program that wrote last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// When it last grew, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// How well it answers, beside the best one, which has 1.
    pub relevance: f32,
    /// The best of what was said in it.
    pub snippets: Vec<RecalledSnippet>,
    /// What was said later in the session that seems to take the first snippet back, or to change what it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded: Option<RecalledSnippet>,
    /// Whether it runs now: `yes`, `no` or `unknown`.
    pub running: entraclaw_memory::resume::Running,
    /// The command that goes on with it, quoted for a POSIX shell, with a change to its folder where that is needed.
    pub resume: String,
    /// What a person must know besides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The words around what was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecalledSnippet {
    /// Who says it.
    pub role: Role,
    /// The words, on one line.
    pub text: String,
}

pub(super) fn recalled(query: &str, answer: &Answer, library: &Library, unreadable: usize) -> Recalled {
    Recalled {
        v: 1,
        query: safe_line(query, QUERY_CHARS),
        total: answer.total,
        is_cut: answer.is_cut,
        sessions: answer.sessions.iter().map(|hit| session(hit, library)).collect(),
        unreadable,
    }
}

fn session(hit: &SessionHit, library: &Library) -> RecalledSession {
    let session = &hit.session;
    let resume = Resume::of(session, running(library, &SystemProcesses, session));
    let snippets = hit.snippets.iter();
    RecalledSession {
        agent: session.agent,
        id: session.id.clone(),
        title: resume.title,
        folder: session.folder.clone(),
        file: session.file.display().to_string(),
        version: session.version.clone(),
        last: resume.last,
        relevance: hit.relevance,
        snippets: snippets.map(|one| RecalledSnippet { role: one.role, text: one.text.clone() }).collect(),
        superseded: hit
            .superseded
            .as_ref()
            .map(|later| RecalledSnippet { role: later.role, text: later.text.clone() }),
        running: resume.running,
        resume: resume.command_line,
        note: resume.note,
    }
}
