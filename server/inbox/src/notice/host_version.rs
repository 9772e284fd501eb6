//! The version of the host that a running session is connected to. It must never guess: a version that is
//! missing, or that two sessions give differently, counts as the oldest.

use crate::sessions::sessions;
use entraclaw_mcp::hosts::{HOSTS, consumer_of, numbers};
use entraclaw_seams::storage::Storage;

/// The version that Copilot CLI 1.0.83 gave, when its name had just changed.
const UNTOLD: [u64; 3] = [0, 0, 0];
const COPILOT_RENAMED: [u64; 3] = [1, 0, 83];

/// The lowest version that the hosts of a consumer's running sessions give; `None` when there is none.
pub(super) fn lowest(storage: &dyn Storage, consumer: &str) -> Option<[u64; 3]> {
    let sessions = sessions(storage);
    let living = sessions.iter().filter(|session| session.alive);
    let ours = living.filter(|session| session.file.consumers.iter().any(|name| name == consumer));
    ours.flat_map(|session| &session.file.hosts).map(|host| version(&host.name, &host.version)).min()
}

/// The version that a family's last session gave, whether or not it still runs; `None` when none is
/// remembered.
pub fn last_told(storage: &dyn Storage, family: &str) -> Option<[u64; 3]> {
    let sessions = sessions(storage);
    let told = sessions
        .iter()
        .flat_map(|session| session.file.hosts.iter().map(|host| (&session.file.started_at, host)));
    let of_family = told.filter(|(_, host)| consumer_of(HOSTS, Some(&host.name)) == family);
    of_family.max_by_key(|(at, _)| at.as_str()).map(|(_, host)| version(&host.name, &host.version))
}

/// The family of a host by its name, or a consumer name for an unknown host, and its version.
pub fn who_is(name: &str, told: &str) -> (String, [u64; 3]) {
    (consumer_of(HOSTS, Some(name)), version(name, told))
}

fn version(name: &str, told: &str) -> [u64; 3] {
    let parts = numbers(told);
    if name == "copilot-cli" && parts == UNTOLD { COPILOT_RENAMED } else { parts }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("claude-code", "2.1.330", [2, 1, 330])]
    #[case("copilot-cli", "0.0.0", [1, 0, 83])]
    #[case("github-copilot-developer", "1.0.0", [1, 0, 0])]
    #[case("codex-mcp-client", "0.169.0-alpha.3", [0, 169, 0])]
    #[case("x", "", [0, 0, 0])]
    #[case("x", "99999999999999999999.1", [0, 1, 0])]
    fn versions(#[case] name: &str, #[case] told: &str, #[case] read: [u64; 3]) {
        assert_eq!(version(name, told), read);
    }
}
