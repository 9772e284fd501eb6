//! Which session a run belongs to: a new one, or one that is stored.

use crate::act::Act;
use crate::common;
use crate::invocation::Outside;
use crate::pen::Pen;
use crate::script::Script;

use super::args::{Args, SessionArg};
use super::version::Version;
use super::{store, texts};

/// Fewest letters of an id that stand for it.
const PREFIX_CHARS_MIN: usize = 7;

/// A session of `copilot`.
pub(super) struct Session {
    /// Its id.
    pub id: String,
    /// Whether it was there before.
    pub resumed: bool,
}

impl Session {
    /// The session that a command line asks for; the error is the text on stderr.
    pub(super) fn open(
        script: &Script,
        args: &Args,
        outside: &dyn Outside,
        pen: &mut Pen,
    ) -> Result<Self, String> {
        let known = || -> Vec<String> {
            let mut ids = outside.list("session-state");
            ids.retain(|id| outside.stored(&store::events_file(id)).is_some());
            ids
        };
        let resumed = |id: String| Self { id, resumed: true };
        match &args.session {
            SessionArg::New => Ok(Self::fresh(pen.uuid())),
            SessionArg::Id(id) if known().contains(id) => Ok(resumed(id.clone())),
            SessionArg::Id(id) if common::is_uuid(id) => Ok(Self::fresh(id.to_ascii_lowercase())),
            SessionArg::Id(id) => Err(texts::no_id(id)),
            SessionArg::Resume(value) => {
                let found = known().into_iter().rev().find(|id| {
                    id == value
                        || value.len() >= PREFIX_CHARS_MIN && id.starts_with(value.as_str())
                        || name(outside, id).is_some_and(|name| name.eq_ignore_ascii_case(value))
                });
                match found {
                    Some(id) => Ok(resumed(id)),
                    None if Version::of(script).refuses_unknown_sessions() => Err(texts::no_session(value)),
                    None if common::is_uuid(value) => Ok(Self::fresh(pen.uuid())),
                    None => Err(format!("Error: No session or task matched '{value}'")),
                }
            }
            SessionArg::Pick => Err(texts::PICKER.to_owned()),
            SessionArg::Latest => Ok(known().pop().map_or_else(|| Self::fresh(pen.uuid()), resumed)),
        }
    }

    /// The session that these acts belong to.
    pub(super) fn of(done: &[Act]) -> Self {
        let stored = done.iter().find_map(|act| match act {
            Act::Store { path, .. } => path.strip_prefix("session-state/")?.split_once('/'),
            _ => None,
        });
        Self { id: stored.map(|(id, _)| id.to_owned()).unwrap_or_default(), resumed: true }
    }

    fn fresh(id: String) -> Self {
        Self { id, resumed: false }
    }
}

/// The name that the user gave a session.
fn name(outside: &dyn Outside, id: &str) -> Option<String> {
    let text = outside.stored(&store::workspace_file(id))?;
    text.lines().find_map(|line| line.strip_prefix("name: ")).map(str::to_owned)
}
