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

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::machine::shared;
    use super::*;
    use crate::search::Snippet;
    use crate::stores::{Agent, Place};

    fn hit(relevance: f32, role: Role) -> SessionHit {
        let at = |at: &str| Some(at.parse().unwrap());
        SessionHit {
            session: Session {
                agent: Agent::Claude,
                id: "one".to_owned(),
                folder: Some("/p".to_owned()),
                title: None,
                version: None,
                started: at("2026-11-24T12:00:00Z"),
                last: at("2026-11-25T23:00:00Z"),
                file: "/one.jsonl".into(),
            },
            relevance,
            snippets: vec![Snippet { text: "a".to_owned(), role }],
            superseded: Some(Later { text: "later".to_owned(), role, at: None, place: Place::default() }),
        }
    }

    #[rstest]
    #[case(1.0, 1.0)]
    #[case(0.333_33, 0.33)]
    #[case(0.006, 0.01)]
    #[case(0.004, 0.0)]
    fn relevance_has_two_digits(#[case] relevance: f32, #[case] expected: f64) {
        let (_, shared) = shared(&[]);
        let found = result(&shared, hit(relevance, Role::User), false);
        assert!((found.relevance - expected).abs() < 1e-9, "{}", found.relevance);
    }

    #[rstest]
    #[case(Role::User, "user")]
    #[case(Role::Assistant, "assistant")]
    #[case(Role::Tool, "assistant")]
    #[case(Role::Summary, "assistant")]
    fn words_are_of_the_person_or_else_of_the_agent(#[case] role: Role, #[case] kind: &str) {
        let (_, shared) = shared(&[]);
        let found = serde_json::to_value(result(&shared, hit(1.0, role), false)).unwrap();
        assert_eq!(found["snippets"], serde_json::json!([{"text": "a", "type": kind}]));
    }

    #[test]
    fn a_session_has_its_last_day_in_the_zone_of_the_person_and_details_if_they_are_asked_for() {
        let (_, shared) = shared(&[]);
        let shown = |hit, has_details| serde_json::to_value(result(&shared, hit, has_details)).unwrap();
        let plain = shown(hit(1.0, Role::User), false);
        assert_eq!((&plain["date"], &plain["title"]), (&"2026-11-26".into(), &"claude session".into()));
        assert!(plain.get("resume").is_none() && plain.get("supersededLater").is_none(), "{plain}");
        let full = shown(hit(1.0, Role::User), true);
        assert_eq!(full["resume"], "cd -- /p && claude --resume one");
        assert_eq!((&full["supersededLater"], &full["running"]), (&"later".into(), &"unknown".into()));
        let mut begun = hit(1.0, Role::User);
        begun.session.last = None;
        assert_eq!(shown(begun.clone(), false)["date"], "2026-11-24");
        begun.session.started = None;
        assert_eq!(shown(begun, false)["date"], "");
        let answer = Answer { sessions: vec![hit(1.0, Role::User)], total: 7, is_cut: false };
        let results = search_results(&shared, answer, false);
        assert_eq!((results.results.len(), results.total_found), (1, 7));
    }
}
