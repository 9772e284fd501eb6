//! What is asked, and what is answered.
//!
//! It must never hold more than a screen of text for one answer.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::stores::{Agent, Message, Place, Role, Session};

/// What the answer is limited to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only sessions of this agent.
    pub agent: Option<Agent>,
    /// Only messages of this role.
    pub role: Option<Role>,
    /// Only sessions in this folder or below it.
    pub folder: Option<String>,
    /// Only what was said at this moment or later.
    pub since: Option<Timestamp>,
    /// Only what was said before this moment.
    pub until: Option<Timestamp>,
    /// Only calls of the tool of this name, as the agent names it.
    pub tool: Option<String>,
}

impl Filter {
    pub(super) fn takes_session(&self, session: &Session) -> bool {
        self.agent.is_none_or(|agent| agent == session.agent)
            && self.folder.as_ref().is_none_or(|folder| is_below(session, folder))
    }

    pub(super) fn takes_message(&self, message: &Message) -> bool {
        self.role.is_none_or(|wanted| wanted == message.role)
            && self.tool.as_ref().is_none_or(|tool| message.tool.as_ref() == Some(tool))
            && self.since.is_none_or(|since| message.at.is_some_and(|at| at >= since))
            && self.until.is_none_or(|until| message.at.is_some_and(|at| at < until))
    }

    /// Whether it takes a session without looking at its messages.
    pub(super) fn is_of_sessions(&self) -> bool {
        self.role.is_none() && self.tool.is_none() && self.since.is_none() && self.until.is_none()
    }
}

/// Whether a session works in a folder or below it.
pub(super) fn is_below(session: &Session, folder: &str) -> bool {
    let own = session.folder.as_deref().unwrap_or_default();
    let folder = folder.trim_end_matches(['/', '\\']);
    own == folder || own.strip_prefix(folder).is_some_and(|rest| rest.starts_with(['/', '\\']))
}

/// A session with what in it answers a query.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionHit {
    /// The session.
    pub session: Session,
    /// How well it answers, beside the best one, which has 1.
    pub relevance: f32,
    /// The best messages of it; its title, if that alone has words of the query.
    pub snippets: Vec<Snippet>,
    /// What was said later in the session that seems to take the first snippet back, or to change what it says.
    pub superseded: Option<Later>,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Snippet {
    /// The words around what was asked for.
    pub text: String,
    /// Who says it.
    pub role: Role,
}

/// A later message of the same session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Later {
    /// The words that take back or change.
    pub text: String,
    /// Who says it.
    pub role: Role,
    /// When.
    pub at: Option<Timestamp>,
    /// Where it stands in the file of the session.
    pub place: Place,
}

/// The answer to a query.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// The best sessions, best first.
    pub sessions: Vec<SessionHit>,
    /// All sessions that were found. With a phrase, a tool or a date it counts those that were looked at closely.
    pub total: usize,
    /// Whether there may be more sessions than `total`: a phrase of common words stands in too many places to look at all.
    pub is_cut: bool,
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::machine::{message, session};
    use super::*;

    #[rstest]
    #[case("/home/alice/project", "/home/alice/project", true)]
    #[case("/home/alice/project", "/home/alice/project/", true)]
    #[case("/home/alice/project", "/home/alice", true)]
    #[case("/home/alice/project", "/home/al", false)]
    #[case("/home/alice", "/home/alice/project", false)]
    #[case("/home/alice/project", "/", true)]
    #[case("C:\\alice\\project", "C:\\alice\\", true)]
    #[case("C:\\alice\\project", "C:\\al", false)]
    fn a_session_is_in_a_folder_or_below_it(#[case] own: &str, #[case] folder: &str, #[case] is_in: bool) {
        let session = Session { folder: Some(own.to_owned()), ..session("one", None, "/one") };
        assert_eq!(is_below(&session, folder), is_in);
        let filter = |agent| Filter { agent, folder: Some(folder.to_owned()), ..Filter::default() };
        assert_eq!(filter(None).takes_session(&session), is_in);
        assert_eq!(filter(Some(Agent::Claude)).takes_session(&session), is_in);
        assert!(!filter(Some(Agent::Codex)).takes_session(&session));
    }

    #[test]
    fn a_session_without_a_folder_is_in_none() {
        assert!(!is_below(&session("one", None, "/one"), "/home"));
        assert!(Filter::default().takes_session(&session("one", None, "/one")));
    }

    #[test]
    fn a_message_passes_all_that_is_asked_of_it() {
        let at: Timestamp = "2026-05-01T00:00:10Z".parse().unwrap();
        let later = at + jiff::SignedDuration::from_nanos(1);
        let call = Message { at: Some(at), tool: Some("Bash".to_owned()), ..message(Role::Tool, "ls") };
        let timeless = Message { at: None, ..call.clone() };
        let tool = |name: &str| Filter { tool: Some(name.to_owned()), ..Filter::default() };
        let role = |role| Filter { role: Some(role), ..Filter::default() };
        let since = |since| Filter { since: Some(since), ..Filter::default() };
        let until = |until| Filter { until: Some(until), ..Filter::default() };
        for (filter, takes, takes_timeless) in [
            (Filter::default(), true, true),
            (tool("Bash"), true, true),
            (tool("bash"), false, false),
            (role(Role::Tool), true, true),
            (role(Role::User), false, false),
            (since(at), true, false),
            (since(later), false, false),
            (until(at), false, false),
            (until(later), true, false),
            (Filter { role: Some(Role::User), ..tool("Bash") }, false, false),
            (Filter { since: Some(later), ..tool("Bash") }, false, false),
        ] {
            assert_eq!(filter.takes_message(&call), takes, "{filter:?}");
            assert_eq!(filter.takes_message(&timeless), takes_timeless, "{filter:?}");
            assert_eq!(filter.is_of_sessions(), filter == Filter::default());
        }
        let of_sessions = Filter { agent: Some(Agent::Codex), folder: Some("/".into()), ..Filter::default() };
        assert!(of_sessions.is_of_sessions());
    }
}
