//! What the search returns, member by member as in the design document.
//! It must never gain a member that was not asked for.

use serde::Serialize;

use super::shared::Shared;
use crate::search::{Answer, SessionHit};
use crate::stores::Role;

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
}

/// The answer of the search in the document's form.
pub(super) fn search_results(shared: &Shared, answer: Answer, has_details: bool) -> SearchResults {
    let results = answer.sessions.into_iter().map(|hit| result(shared, hit, has_details));
    SearchResults { results: results.collect(), total_found: answer.total }
}

fn result(shared: &Shared, hit: SessionHit, has_details: bool) -> SearchResult {
    let session = hit.session;
    let snippets = hit.snippets.into_iter().map(|snippet| SearchSnippet {
        text: snippet.text,
        r#type: if snippet.role == Role::User { "user" } else { "assistant" },
    });
    SearchResult {
        title: session.title.unwrap_or_else(|| "(no title)".to_owned()),
        date: session.last.or(session.started).map(|at| shared.day(at)).unwrap_or_default(),
        relevance: f64::from((hit.relevance * 100.0).round()) / 100.0,
        snippets: snippets.collect(),
        details: has_details.then(|| Details { agent: session.agent.as_str(), folder: session.folder }),
        session_id: session.id,
    }
}
