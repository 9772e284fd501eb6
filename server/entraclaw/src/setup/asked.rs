//! What the added sets of tools need of a host that starts the server: variables by name, and what its user must know.
//!
//! It must never write a value of such a variable.

use super::request::Request;
use entraclaw_inbox::tool::ToolSet;
use entraclaw_mcp::hosts::HandsDown;

/// What the user must know of a setup that adds sets of tools.
pub(super) fn notes(request: &Request) -> Vec<String> {
    let (added, handed) = (&request.added, request.handed_down());
    let Some(sets) = &request.sets else { return Vec::new() };
    let mut notes = Vec::new();
    if added.contains(&ToolSet::Ask) {
        notes.push(
        "With --with ask the model can have other coding agents do something here: `ask` may do all that you may do, commands \
         included, until `[ask] permissions` in config.toml says \"workspace\" or \"read-only\". `entraclaw doctor` says which \
         agents are installed."
            .to_owned(),
        );
    }
    if added.contains(&ToolSet::Context) {
        notes.push(
            "With --with context the model can read and add to the notes in context.md of a workspace, and search what was said \
             in the sessions of all coding agents on this machine, of other projects too. Secrets are left out of what it is shown."
                .to_owned(),
        );
    }
    if added.contains(&ToolSet::Delegate) {
        notes.push(
            "With --with delegate the model can hand work to a local model, which reads, writes and runs commands in the project, \
             in a sandbox, while `entraclaw delegate` works there. `entraclaw doctor` in that folder says whether it does, and \
             which model server was found."
                .to_owned(),
        );
    }
    notes.push(format!(
        "The entry names its sets of tools ({sets}), so for this host `[tools] sets` in config.toml does not count."
    ));
    if added.contains(&ToolSet::Ask)
        && let HandsDown::EverythingSince([a, b, c]) = handed
    {
        notes.push(format!(
            "Before {a}.{b}.{c} a token in a variable does not reach an agent that is asked; sign the agent in by its own program \
             there."
        ));
    }
    notes
}
