//! Finds the hosts that can't be left alone, by the receipts in the home folder and the running sessions: those that would
//! wait for a person at their first answer, and those that nothing wakes.
//! It must never hold a host for attended because of a receipt that can't be read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::receipts::readable;
use crate::setup::{ALLOW_ANSWERS, Content, FirstAnswer, Host, WaysIn, first_answer, lets_answer, not_woken};
use entraclaw_inbox::notice::{last_told, who_is};
use entraclaw_inbox::sessions::sessions;
use entraclaw_inbox::wake_up::WakeUpSettings;
use entraclaw_seams::storage::DiskStorage;

/// The state of one setup by its receipts.
#[derive(Debug, Clone, Copy)]
struct SetUp {
    answers: bool,
    ways: WaysIn,
}

/// A text for each such host, with the fix. `wake_ups` are those of the configuration.
pub(in crate::command) fn unattended(home: &DiskStorage, wake_ups: &WakeUpSettings) -> Vec<String> {
    let owners = owners(home, wake_ups);
    let mut told: Vec<String> =
        owners.iter().filter(|(_, left)| !left.answers).filter_map(|(owner, _)| stops(owner)).collect();
    let mut attached = BTreeSet::new();
    for session in sessions(home).iter().filter(|session| session.alive) {
        for host in &session.file.hosts {
            let (family, version) = who_is(&host.name, &host.version);
            attached.insert(family.clone());
            let extension = owners.iter().any(|(owner, left)| is_of(owner, &family) && left.ways.extension);
            let ways = WaysIn::of_carriers(&session.file.carriers, extension);
            let known = Host::named(&family);
            let title = known.map_or_else(|| host.name.clone(), |known| known.title().to_owned());
            let title = format!("{title} {}", host.version);
            let place = format!(" to its `entraclaw setup {family}`");
            told.extend(not_woken(title.trim_end(), &family, Some(version), ways, &place));
        }
    }
    // A running session's own report is more reliable than receipts.
    let away = owners.iter().filter(|(owner, _)| !attached.iter().any(|family| is_of(owner, family)));
    for (owner, left) in away {
        let Some((host, place, flag)) = parts(owner) else { continue };
        let name = host.name();
        let fix = format!(" to its `entraclaw setup {name}{flag}`");
        let title = format!("{}{place}", host.title());
        told.extend(not_woken(&title, name, last_told(home, name), left.ways, &fix));
    }
    let mut seen = BTreeSet::new();
    told.retain(|line| seen.insert(line.clone()));
    told
}

fn is_of(owner: &str, family: &str) -> bool {
    owner.split_once('/').is_some_and(|(name, _)| name == family)
}

fn owners(home: &DiskStorage, wake_ups: &WakeUpSettings) -> BTreeMap<String, SetUp> {
    let mut owners: BTreeMap<String, SetUp> = BTreeMap::new();
    for receipt in readable(home) {
        for (owner, content) in &receipt.owners {
            let fresh = SetUp { answers: false, ways: WaysIn::of_wake_ups(wake_ups) };
            let left = owners.entry(owner.clone()).or_insert(fresh);
            left.answers |= lets_answer(content);
            let text = serde_json::to_string(content).unwrap_or_default();
            // Setup writes these two switches only as `false`.
            left.ways.inbox_socket &= !text.contains("ENTRACLAW_WAKE_INBOX_SOCKET");
            left.ways.waking_hook &= !text.contains("ENTRACLAW_WAKE_WAKING_HOOK");
            left.ways.queue |= text.contains("ENTRACLAW_WAKE_CODEX_QUEUE");
            left.ways.port |= text.contains("ENTRACLAW_WAKE_OPENCODE_PORT");
            left.ways.extension |= is_extension(&receipt.path, content);
        }
    }
    owners
}

fn is_extension(path: &str, content: &Content) -> bool {
    matches!(content, Content::Whole(_)) && Path::new(path).ends_with("extensions/entraclaw/extension.mjs")
}

/// The host, the place of its setup, and the flag for that place.
fn parts(owner: &str) -> Option<(Host, String, &'static str)> {
    let (name, scope) = owner.split_once('/')?;
    let host = Host::named(name)?;
    Some(match scope.strip_prefix("project:") {
        Some(folder) => (host, format!(" in {folder}"), " --scope project"),
        None => (host, String::new(), ""),
    })
}

fn stops(owner: &str) -> Option<String> {
    let (host, place, flag) = parts(owner)?;
    if first_answer(host) != FirstAnswer::Stops {
        return None;
    }
    Some(format!(
        "the first answer of {}{place} stops at a dialog until a person is there; before you leave it alone, add \
         {ALLOW_ANSWERS} to its `entraclaw setup {}{flag}`",
        host.title(),
        host.name()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::{Found, with};
    use entraclaw_seams::storage::Storage as _;

    #[test]
    fn a_host_is_named_once_it_was_set_up() {
        let folder = tempfile::tempdir().unwrap();
        let home = DiskStorage::open(folder.path()).unwrap();
        let settings = WakeUpSettings::default();
        assert!(unattended(&home, &settings).is_empty());
        let content = Content::Section("Read the inbox.".to_owned());
        let path = "/home/alice/.gemini/GEMINI.md";
        let receipt = with(path, Found::default(), "gemini-cli/user", &content).unwrap().receipt;
        home.create_dir(super::super::folders::FOLDER).unwrap();
        home.replace("setup/one.json", &serde_json::to_vec(&receipt).unwrap()).unwrap();
        let told = unattended(&home, &settings);
        assert_eq!(told.first(), stops("gemini-cli/user").as_ref(), "{told:?}");
    }

    #[test]
    fn only_hosts_that_were_seen_to_ask_are_named() {
        assert!(stops("codex/user").unwrap().contains("Codex CLI stops"));
        let project = stops("claude-code/project:/srv/a b").unwrap();
        assert!(project.contains("in /srv/a b stops") && project.contains("--scope project"), "{project}");
        for owner in ["opencode/user", "vscode/user", "unknown/user", "codex", ""] {
            assert_eq!(stops(owner), None, "{owner}");
        }
    }
}
