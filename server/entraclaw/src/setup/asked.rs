//! What other coding agents need of a host that starts the server: variables by name, and what its user must know.
//!
//! It must never write a value of such a variable.

use super::request::Request;
use entraclaw_mcp::hosts::HandsDown;

/// The variables that a host was seen to hand down which hands down few: Codex 0.169.0, by its recorded profile.
const FEW: [&str; 11] = [
    "HOME",
    "LANG",
    "LC_ALL",
    "LOGNAME",
    "NODE_EXTRA_CA_CERTS",
    "PATH",
    "SHELL",
    "SSL_CERT_FILE",
    "TERM",
    "TMPDIR",
    "USER",
];

/// The names of set variables that an agent reads and that the host keeps from its servers.
pub(super) fn kept_from_agents(request: &Request) -> Vec<String> {
    let handed = request.handed_down();
    let is_kept = |name: &&String| match handed {
        HandsDown::Few => !FEW.contains(&name.as_str()),
        _ => handed.keeps(name, ""),
    };
    let names = if request.sets.is_some() { request.for_agents.as_slice() } else { &[] };
    names.iter().filter(is_kept).cloned().collect()
}

/// What the user must know of a setup that adds other agents.
pub(super) fn notes(request: &Request) -> Vec<String> {
    let Some(sets) = &request.sets else { return Vec::new() };
    let mut notes = vec![
        "With --with ask the model can have other coding agents do something here: `ask` may do all that you may do, commands \
         included, until `[ask] permissions` in config.toml says \"workspace\" or \"read-only\". `entraclaw doctor` says which \
         agents are installed."
            .to_owned(),
        format!("The entry names its sets of tools ({sets}), so for this host `[tools] sets` in config.toml does not count."),
    ];
    if let HandsDown::EverythingSince([a, b, c]) = request.handed_down() {
        notes.push(format!(
            "Before {a}.{b}.{c} a token in a variable does not reach an agent that is asked; sign the agent in by its own program \
             there."
        ));
    }
    notes
}
