//! Which hosts were set up so that their first answer waits for a person, by the receipts in the home folder.
//!
//! It must never fail because of a receipt that can't be read: then it says less.

use std::collections::BTreeMap;

use super::folders::FOLDER;
use super::work::{RECEIPT_BYTES_MAX, is_receipt};
use crate::setup::{ALLOW_ANSWERS, FirstAnswer, Host, Receipt, first_answer, lets_answer};
use entraclaw_seams::storage::{DiskStorage, Storage as _, read_whole};

/// What is said of each such host, with what helps.
pub(in crate::command) fn waiting_for_a_person(home: &DiskStorage) -> Vec<String> {
    let mut allowed: BTreeMap<String, bool> = BTreeMap::new();
    for name in home.list(FOLDER).unwrap_or_default().iter().filter(|name| is_receipt(name)) {
        let path = format!("{FOLDER}/{name}");
        let Ok(Some(bytes)) = read_whole(home, &path, RECEIPT_BYTES_MAX) else { continue };
        let Ok(receipt) = serde_json::from_slice::<Receipt>(&bytes) else { continue };
        for (owner, content) in &receipt.owners {
            *allowed.entry(owner.clone()).or_default() |= lets_answer(content);
        }
    }
    allowed.into_iter().filter(|(_, allowed)| !allowed).filter_map(|(owner, _)| told(&owner)).collect()
}

fn told(owner: &str) -> Option<String> {
    let (name, scope) = owner.split_once('/')?;
    let host = Host::ALL.into_iter().find(|host| host.name() == name)?;
    if first_answer(host) != FirstAnswer::Stops {
        return None;
    }
    let (place, flag) = match scope.strip_prefix("project:") {
        Some(folder) => (format!(" in {folder}"), " --scope project"),
        None => (String::new(), ""),
    };
    Some(format!(
        "the first answer of {}{place} stops at a dialog until somebody is there; before you leave it alone, add \
         {ALLOW_ANSWERS} to its `entraclaw setup {name}{flag}`",
        host.title()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hosts_that_are_known_to_ask_are_named() {
        assert!(told("codex/user").unwrap().contains("Codex CLI stops"));
        let project = told("claude-code/project:/srv/a b").unwrap();
        assert!(project.contains("in /srv/a b stops") && project.contains("--scope project"), "{project}");
        for owner in ["opencode/user", "vscode/user", "unknown/user", "codex", ""] {
            assert_eq!(told(owner), None, "{owner}");
        }
    }
}
