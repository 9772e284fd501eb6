//! What is asked, and what is answered.
//!
//! It must never hold more than a screen of text for one answer.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::stores::{Agent, Role, Session};

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
}

impl Filter {
    pub(super) fn takes(&self, session: &Session, role: Role, at: Option<Timestamp>) -> bool {
        let in_folder = |folder: &String| {
            let own = session.folder.as_deref().unwrap_or_default();
            let folder = folder.trim_end_matches('/');
            own == folder || own.strip_prefix(folder).is_some_and(|rest| rest.starts_with(['/', '\\']))
        };
        self.agent.is_none_or(|agent| agent == session.agent)
            && self.role.is_none_or(|wanted| wanted == role)
            && self.folder.as_ref().is_none_or(in_folder)
            && self.since.is_none_or(|since| at.is_some_and(|at| at >= since))
            && self.until.is_none_or(|until| at.is_some_and(|at| at < until))
    }
}

/// A message that answers a query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    pub(super) file: u64,
    pub(super) place: crate::stores::Place,
    pub(super) at: Option<Timestamp>,
    pub(super) score: f32,
}

/// A session with what in it answers a query.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionHit {
    /// The session.
    pub session: Session,
    /// How well it answers, beside the best one, which has 1.
    pub relevance: f32,
    /// The best messages of it.
    pub snippets: Vec<Snippet>,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Snippet {
    /// The words around what was asked for.
    pub text: String,
    /// Who says it.
    pub role: Role,
}

/// The answer to a query.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// The best sessions, best first.
    pub sessions: Vec<SessionHit>,
    /// The sessions among the best messages.
    pub total: usize,
}
