//! What the search returns, member by member as in the design document.
//! It must never gain a member that was not asked for.

use serde::Serialize;

use super::shared::Shared;
use crate::export::Listed;
use crate::resume::{Resume, Running, running};
use crate::search::{Answer, Later, SessionHit};
use crate::stores::{Role, Session};

/// What `search_conversations` returns.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SearchResults {
    pub(super) results: Vec<SearchResult>,
    pub(super) total_found: usize,
}

/// A session that answers a query.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SearchResult {
    session_id: String,
    title: String,
    date: String,
    relevance: f64,
    snippets: Vec<SearchSnippet>,
    #[serde(flatten)]
    details: Option<Details>,
}

/// Words of a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct SearchSnippet {
    text: String,
    r#type: &'static str,
}

/// What is told beside, if it is asked for.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Details {
    agent: &'static str,
    folder: Option<String>,
    resume: String,
    running: Running,
    /// What was said later in the session and seems to take the first snippet back.
    superseded_later: Option<String>,
}

/// What `export_conversation` returns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct ExportedConversation {
    pub(super) success: bool,
    pub(super) exported: ExportedMembers,
}

/// What was exported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExportedMembers {
    pub(super) title: String,
    pub(super) message_count: usize,
    pub(super) timestamp: String,
}

/// A session in the list of the design document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ChatSession {
    id: String,
    title: String,
    date: String,
    message_count: usize,
    file_path: String,
}

impl ChatSession {
    pub(super) fn of(listed: Listed) -> Self {
        Self {
            id: listed.id,
            title: listed.title,
            date: listed.date,
            message_count: listed.message_count,
            file_path: listed.file_path,
        }
    }
}

/// The answer of the search in the document's form.
pub(super) fn search_results(shared: &Shared, answer: Answer, has_details: bool) -> SearchResults {
    let results = answer.sessions.into_iter().map(|hit| result(shared, hit, has_details));
    SearchResults { results: results.collect(), total_found: answer.total }
}

fn details(shared: &Shared, session: &Session, superseded: Option<Later>) -> Details {
    let running = shared.with_library(|library| running(library, &*shared.parts.processes, session));
    Details {
        agent: session.agent.as_str(),
        folder: session.folder.clone(),
        resume: Resume::of(session, running).command_line,
        running,
        superseded_later: superseded.map(|later| later.text),
    }
}

fn result(shared: &Shared, hit: SessionHit, has_details: bool) -> SearchResult {
    let session = hit.session;
    let snippets = hit.snippets.into_iter().map(|snippet| SearchSnippet {
        text: snippet.text,
        r#type: if snippet.role == Role::User { "user" } else { "assistant" },
    });
    SearchResult {
        title: session.title.clone().unwrap_or_else(|| format!("{} session", session.agent.as_str())),
        date: session.last.or(session.started).map(|at| shared.day(at)).unwrap_or_default(),
        relevance: f64::from((hit.relevance * 100.0).round()) / 100.0,
        snippets: snippets.collect(),
        details: has_details.then(|| details(shared, &session, hit.superseded)),
        session_id: session.id,
    }
}
