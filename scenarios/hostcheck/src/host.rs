//! The hosts of the matrix: every profile, and the bare pipe. It knows which features a host has, never how
//! it works.

use std::sync::{Arc, LazyLock};

use fake_hosts::{Evidence, Mark, Mode, Profile};
use reports::event::{ColumnKind, HostColumn, HostFact};

/// A pipe without a host's behaviour, for lines that a scenario writes itself.
pub const BARE: &str = "generic@bare";

/// Hosts that play every seed even if no host is named: the newest version of the first two families, and
/// three hosts that differ from these most. The others differ from one of them in few facts.
const EVERY_SEED: [&str; 5] =
    ["claude-code@2.1.330", "claude-code@seed", "copilot-cli@1.0.102", "copilot-cli@seed", BARE];

/// One host.
#[derive(Debug, Clone)]
pub struct Host {
    /// `family@version`.
    pub id: String,
    /// The family.
    pub family: String,
    /// Its profile; `None` for the bare pipe.
    pub profile: Option<Arc<Profile>>,
}

static ALL: LazyLock<Result<Vec<Arc<Host>>, String>> = LazyLock::new(|| {
    let profiles = fake_hosts::profiles().map_err(|error| error.to_string())?;
    let mut hosts: Vec<Arc<Host>> = profiles
        .into_iter()
        .map(|profile| {
            Arc::new(Host { id: profile.id.clone(), family: profile.family.clone(), profile: Some(profile) })
        })
        .collect();
    hosts.push(Arc::new(Host { id: BARE.to_owned(), family: "generic".to_owned(), profile: None }));
    hosts.sort_by_cached_key(|host| (host.family.clone(), host.age(), host.id.clone()));
    Ok(hosts)
});

/// Every host, in column order.
pub fn all() -> anyhow::Result<&'static [Arc<Host>]> {
    ALL.as_deref().map_err(|error| anyhow::anyhow!("{error}"))
}

impl Host {
    /// The title for reports.
    pub fn title(&self) -> &str {
        self.profile.as_ref().map_or("A bare pipe", |profile| &profile.title)
    }

    /// Where the evidence comes from.
    pub fn about(&self) -> &str {
        self.profile
            .as_ref()
            .map_or("No host at all: only the lines that a scenario writes.", |profile| &profile.about)
    }

    /// Whether every seed is played on this host even if no host is named.
    pub fn plays_every_seed(&self) -> bool {
        EVERY_SEED.contains(&self.id.as_str())
    }

    /// The part of the id after the family.
    pub fn version(&self) -> &str {
        self.id.split_once('@').map_or("", |(_, version)| version)
    }

    /// The numbers of its version, for sorting; a version without numbers comes after all others.
    fn age(&self) -> Vec<u64> {
        self.version().split('.').map(|number| number.parse().unwrap_or(u64::MAX)).collect()
    }

    /// The host that plays in its place if no host is named: the profile that it extends, if the two differ
    /// only in their version, and in what is known about faulty servers.
    pub fn represented_by(&self) -> Option<&'static Arc<Self>> {
        let own = self.profile.as_ref()?;
        let parent = own.extends.as_ref()?;
        let other = all().ok()?.iter().find(|host| host.id == *parent)?;
        let theirs = other.profile.as_ref()?;
        let alike = own.family == theirs.family
            && own.evidence().iter().zip(theirs.evidence()).all(|(one, two)| {
                let is_version = one.name == "identity.client_info" || one.name.starts_with("fidelity.");
                // The own server sends no faulty line, so what is not known about these changes nothing.
                let is_of_faults = ["faults.", "schemas."].iter().any(|area| one.name.starts_with(area))
                    || one.name == "texts.content_required";
                is_version || is_of_faults || (one.value == two.value && one.is_unknown() == two.is_unknown())
            });
        alike.then_some(other)
    }

    /// The column in the matrix. Of the facts it has those that its own file states, and the user's settings;
    /// the rest are those of the profile that it extends.
    pub fn column(&self) -> HostColumn {
        let extends = self.profile.as_ref().and_then(|profile| profile.extends.clone());
        let neighbour = extends.map(|parent| HostFact {
            name: "else".to_owned(),
            value: format!("as {parent}"),
            source: "what is not named here".to_owned(),
        });
        let stands_for = all()
            .unwrap_or_default()
            .iter()
            .filter(|host| host.represented_by().is_some_and(|other| other.id == self.id));
        let stands_for = stands_for.map(|host| HostFact {
            name: "stands for".to_owned(),
            value: host.id.clone(),
            source: "differs in nothing but its version; --host or --all-hosts plays it".to_owned(),
        });
        let facts = self.profile.iter().flat_map(|profile| profile.evidence());
        let facts = facts.filter(|fact| fact.stated_by == self.id || fact.name.ends_with(".setting"));
        HostColumn {
            id: self.id.clone(),
            family: self.family.clone(),
            version: self.version().to_owned(),
            kind: ColumnKind::Host,
            evidence: self.about().to_owned(),
            facts: facts
                .map(|fact| HostFact {
                    value: said(&fact),
                    name: fact.name,
                    source: format!("{}: {}", fact.mark, fact.source),
                })
                .chain(stands_for)
                .chain(neighbour)
                .collect(),
        }
    }
}

/// The value of a fact as a text; an unknown fact is marked as such.
pub fn said(fact: &Evidence) -> String {
    match (fact.mark, fact.unknown_in) {
        (Mark::Unknown, _) => format!("unknown, played as {}", fact.value),
        (_, Some(mode)) => {
            let (seen, other) = match mode {
                Mode::Tui => ("print", "tui"),
                Mode::Print => ("tui", "print"),
            };
            format!("{seen} {}, {other} unknown, played as {}", fact.value[seen], fact.value[other])
        }
        _ => fact.value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_neighbour_plays_for_a_version_that_differs_in_nothing_else() {
        let represented: Vec<(&str, &str)> = all()
            .unwrap()
            .iter()
            .filter_map(|host| Some((host.id.as_str(), host.represented_by()?.id.as_str())))
            .collect();
        assert_eq!(
            represented,
            [("claude-code@2.1.317", "claude-code@2.1.330"), ("copilot-cli@0.0.401", "copilot-cli@0.0.406")]
        );
        for (_, by) in represented {
            let host = all().unwrap().iter().find(|host| host.id == by).unwrap();
            assert!(host.represented_by().is_none(), "{by} is played by another");
        }
    }

    #[test]
    fn a_column_tells_what_its_own_file_states_and_what_it_leaves_to_its_neighbour() {
        let host = all().unwrap().iter().find(|host| host.id == "copilot-cli@1.0.92").unwrap();
        let column = host.column();
        let value = |name: &str| column.facts.iter().find(|fact| fact.name == name).map(|fact| &*fact.value);
        assert_eq!(value("else"), Some("as copilot-cli@1.0.102"));
        assert!(value("tasks.followed").unwrap_or_default().starts_with("unknown, played as"));
        assert_eq!(value("identity.protocol_version"), None);
        assert!(value("hooks.setting").is_some(), "every column shows the user's settings");
    }

    #[test]
    fn hosts_that_play_every_seed_are_hosts() {
        for id in EVERY_SEED {
            assert!(all().unwrap().iter().any(|host| host.id == id), "{id}");
        }
    }
}
