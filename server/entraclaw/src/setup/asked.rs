//! What other coding agents need of a host that starts the server: variables by name, and what its user must know.
//!
//! It must never write a value of such a variable.

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

/// Of the set variables that an agent reads, the names of those that such a host keeps from its servers.
pub(super) fn kept_from_agents(handed: HandsDown, set: &[String]) -> Vec<String> {
    let is_kept = |name: &&String| match handed {
        HandsDown::Few => !FEW.contains(&name.as_str()),
        _ => handed.keeps(name, ""),
    };
    set.iter().filter(is_kept).cloned().collect()
}

/// What the user must know of a setup that adds other agents.
pub(super) fn notes(sets: Option<&str>, handed: HandsDown) -> Vec<String> {
    let Some(sets) = sets else { return Vec::new() };
    let mut notes = vec![
        "With --with ask the model can have other coding agents do something here: `ask` may do all that you may do, commands \
         included, until `[ask] permissions` in config.toml says \"workspace\" or \"read-only\". `entraclaw doctor` says which \
         agents are installed."
            .to_owned(),
        format!("The entry names its sets of tools ({sets}), so for this host `[tools] sets` in config.toml does not count."),
    ];
    if let HandsDown::EverythingSince([a, b, c]) = handed {
        notes.push(format!(
            "Before {a}.{b}.{c} a token in a variable does not reach an agent that is asked; sign the agent in by its own program \
             there."
        ));
    }
    notes
}
