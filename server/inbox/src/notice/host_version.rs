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
    use crate::sessions::{HostLine, SESSIONS, SessionFile, session_file, session_lock};
    use entraclaw_seams::storage::MemoryStorage;

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

    #[test]
    fn the_last_session_of_a_family_counts_and_of_running_ones_the_lowest_version() {
        let storage = MemoryStorage::new();
        let mut locks = Vec::new();
        let mut begin = |id: &str, at: &str, hosts: &[(&str, &str)], runs: bool| {
            let host =
                |&(name, version): &(&str, &str)| HostLine { name: name.into(), version: version.into() };
            let file = SessionFile {
                id: id.to_owned(),
                started_at: at.to_owned(),
                hosts: hosts.iter().map(host).collect(),
                consumers: vec!["claude-code".to_owned()],
                ..SessionFile::default()
            };
            storage.create_dir(SESSIONS).unwrap();
            storage.replace(&session_file(id), &serde_json::to_vec(&file).unwrap()).unwrap();
            if runs {
                locks.push(storage.try_lock(&session_lock(id)).unwrap().unwrap());
            }
        };
        assert_eq!((last_told(&storage, "claude-code"), lowest(&storage, "claude-code")), (None, None));
        begin("a", "2026-11-23T10:00:00Z", &[("claude-code", "2.1.9")], true);
        begin("b", "2026-11-23T12:00:00Z", &[("claude-code", "2.1.8")], false);
        begin("c", "2026-11-23T11:00:00Z", &[("claude-code", "2.2.0")], true);
        begin("d", "2026-11-23T13:00:00Z", &[("codex-mcp-client", "0.1.0")], false);
        assert_eq!(last_told(&storage, "claude-code"), Some([2, 1, 8]));
        assert_eq!(last_told(&storage, "codex"), Some([0, 1, 0]));
        assert_eq!(last_told(&storage, "gemini-cli"), None);
        assert_eq!(lowest(&storage, "claude-code"), Some([2, 1, 9]));
        assert_eq!(lowest(&storage, "codex"), None);
    }
}
