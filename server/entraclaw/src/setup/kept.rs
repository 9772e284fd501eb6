//! Which variables of other agents a host keeps from the servers that it starts.
//!
//! It must never have the value of one.

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
