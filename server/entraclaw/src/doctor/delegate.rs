//! The checks of the local model, where a session, a setup or the project uses it.
//! They must never hand a task to it.

use super::Check;
use super::facts::Facts;
use super::found::{ok, warn};
use entraclaw_sanitize::clean_line;

const NAME: &str = "delegate";

/// Checks the engine of the project, and the model server; without a word where nothing uses them.
pub(super) fn delegate(facts: &Facts) -> Vec<Check> {
    let Some(found) = &facts.delegate else { return Vec::new() };
    let project = clean_line(&found.project);
    let engine = match &found.engine {
        Ok(Some(socket)) => ok(NAME, format!("the engine of {project} works; hosts reach it at {socket}")),
        Ok(None) => warn(
            NAME,
            format!("no engine works in {project}"),
            "start it there in a terminal: `entraclaw delegate`",
        ),
        Err(why) => {
            warn(NAME, clean_line(why), "correct that, then start `entraclaw delegate` in the project")
        }
    };
    let model = match &found.model {
        Ok(sentence) => ok(NAME, clean_line(sentence)),
        Err(why) => warn(
            NAME,
            clean_line(why),
            "start a model server, for example by `ollama serve`, or name yours by `delegate.base_url`",
        ),
    };
    vec![engine, model]
}
