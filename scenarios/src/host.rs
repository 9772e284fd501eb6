//! The hosts that a cell can have: every profile, and the bare pipe. Knows what a host can do, never how.

use std::sync::{Arc, LazyLock};

use fake_hosts::{Evidence, Mark, Mode, Profile};
use reports::event::{ColumnKind, HostColumn, HostFact};

use crate::needs::{self, Unplayed};
use crate::scenario::Need;

/// A pipe without a host's manners, for what a scenario writes itself.
pub const BARE: &str = "generic@bare";

/// Hosts that play every seed also where none is named: the newest of the two first ones, and their opposites that the
/// project started from. The others differ from one of them in few facts.
const EVERY_SEED: [&str; 5] =
    ["claude-code@2.1.330", "claude-code@seed", "copilot-cli@1.0.102", "copilot-cli@seed", BARE];

/// One host.
#[derive(Debug, Clone)]
pub struct Host {
    /// `family@version`.
    pub id: String,
    /// The family.
    pub family: String,
    /// Its profile; none for the bare pipe.
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
    /// What it is, for people.
    pub fn title(&self) -> &str {
        self.profile.as_ref().map_or("A bare pipe", |profile| &profile.title)
    }

    /// Where the evidence comes from.
    pub fn about(&self) -> &str {
        self.profile
            .as_ref()
            .map_or("No host at all: only the lines that a scenario writes.", |profile| &profile.about)
    }

    /// Whether every seed is played on it, also where no host is named.
    pub fn plays_every_seed(&self) -> bool {
        EVERY_SEED.contains(&self.id.as_str())
    }

    /// What follows the family in its id.
    pub fn version(&self) -> &str {
        self.id.split_once('@').map_or("", |(_, version)| version)
    }

    /// The numbers of its version, the oldest first; a version that is no number comes after all.
    fn age(&self) -> Vec<u64> {
        self.version().split('.').map(|number| number.parse().unwrap_or(u64::MAX)).collect()
    }

    /// Why this host does not meet a need, or that nobody knows whether it does; nothing when it does.
    pub fn lacks(&self, need: Need, mode: Mode) -> Option<Unplayed> {
        let Some(profile) = &self.profile else {
            return Some(Unplayed::not_applicable("about a host; a bare pipe is none"));
        };
        needs::lacks(profile, need, mode)
    }

    /// The neighbour that plays for it where no host is named: the profile that it extends, if it differs from that in
    /// nothing but its version.
    pub fn represented_by(&self) -> Option<&'static Arc<Self>> {
        let own = self.profile.as_ref()?;
        let parent = own.extends.as_ref()?;
        let other = all().ok()?.iter().find(|host| host.id == *parent)?;
        let theirs = other.profile.as_ref()?;
        let alike = own.family == theirs.family
            && own.evidence().iter().zip(theirs.evidence()).all(|(one, two)| {
                let is_version = one.name == "identity.client_info" || one.name.starts_with("fidelity.");
                is_version || (one.value == two.value && one.is_unknown() == two.is_unknown())
            });
        alike.then_some(other)
    }

    /// The matrix's column. Of its facts those that its own file states, the rest being its neighbour's, and what a person
    /// sets.
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

/// The value of a fact for people: an unknown one never stands alone.
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
    use entraclaw::knock::wakes_by_hook;
    use entraclaw::mcp::{HOSTS, HostRow, Park};
    use entraclaw::notice::{Form, HOOKS, Moment};
    use fake_hosts::{HookAnswer, ProgressTokens};

    fn row_of(client: &str) -> Option<&'static HostRow> {
        HOSTS.iter().find(|row| {
            row.names.iter().any(|name| match name.strip_suffix('*') {
                Some(start) => client.starts_with(start),
                None => client == *name,
            })
        })
    }

    #[test]
    fn the_server_knows_every_profile_of_a_program_by_its_name_and_waits_less_than_its_limit() {
        for host in all().unwrap().iter().filter(|host| host.family != "generic") {
            let profile = host.profile.as_ref().unwrap();
            let row = row_of(profile.client_name()).unwrap_or_else(|| panic!("no row for {}", host.id));
            assert_eq!(row.family, host.family, "{}", host.id);
            assert!(row.wait_cap_s * 1000 < *profile.calls.timeout_ms, "{}: waits too long", host.id);
        }
    }

    /// The three numbers that a host tells of its version.
    fn told(profile: &Profile) -> [u64; 3] {
        let mut numbers = [0; 3];
        let version = profile.identity.client_info["version"].as_str().unwrap_or_default();
        for (number, text) in numbers.iter_mut().zip(version.split('.')) {
            *number = text.parse().unwrap_or(0);
        }
        // The server knows that this version tells nothing of itself.
        if profile.client_name() == "copilot-cli" && numbers == [0; 3] { [1, 0, 83] } else { numbers }
    }

    #[test]
    fn the_server_parks_a_call_only_where_it_lasts() {
        for host in all().unwrap().iter().filter(|host| host.family != "generic") {
            let profile = host.profile.as_ref().unwrap();
            let calls = &profile.calls;
            let row = row_of(profile.client_name()).unwrap();
            let (parks, lasts) = match row.park {
                Park::Never => continue,
                Park::Since(since) => {
                    (told(profile) >= since, Mode::Tui.of(&calls.background_after_ms).is_some())
                }
                Park::WithProgress => (
                    *profile.wire.progress_tokens != ProgressTokens::None,
                    *calls.progress_extends && calls.progress_extends.is_known_in(Mode::Tui),
                ),
            };
            assert_eq!(parks, lasts, "{}", host.id);
        }
    }

    #[test]
    fn the_server_answers_exactly_the_hooks_whose_answer_reaches_the_model() {
        for host in all().unwrap().iter().filter(|host| host.family != "generic") {
            let profile = host.profile.as_ref().unwrap();
            let hooks = &profile.hooks;
            let tells_its_own = profile.identity.client_info["version"] == host.version();
            for row in HOOKS.iter().filter(|row| row.family == host.family) {
                let fact = match (row.moment, row.event) {
                    (_, "notification") => &hooks.shell_end,
                    (Moment::SessionStart, _) => &hooks.session_start,
                    (Moment::Prompt, _) => &hooks.prompt,
                    (Moment::AfterTool, _) => &hooks.after_tool,
                    (Moment::TurnEnd, _) => &hooks.turn_end,
                };
                let place = format!("{}: {}", host.id, row.event);
                if let Some(hook) = fact.as_ref() {
                    let form = match hook.answer {
                        HookAnswer::Block => Form::Block,
                        HookAnswer::Deny => Form::Deny,
                        HookAnswer::Context => Form::Context,
                        HookAnswer::SpecificContext => Form::SpecificContext,
                    };
                    assert_eq!(
                        (hook.event.as_str(), form),
                        (row.event, row.form_of(Some(told(profile)))),
                        "{place}"
                    );
                }
                let Some(since) = row.since else { continue };
                if told(profile) >= since {
                    assert!(
                        fact.is_some() || !fact.is_known_in(Mode::Tui),
                        "{place}: what it answers is dropped"
                    );
                } else if tells_its_own {
                    assert!(fact.is_none(), "{place}: it is silent where it would be heard");
                }
            }
        }
    }

    #[test]
    fn the_hook_that_wakes_waits_exactly_where_it_can_wake() {
        for host in all().unwrap() {
            let Some(profile) = &host.profile else { continue };
            let facts = &profile.waking;
            let wakes = *facts.beside && *Mode::Tui.of(&facts.wakes);
            assert_eq!(wakes_by_hook(&host.family, told(profile)), wakes, "{}", host.id);
        }
    }

    #[test]
    fn the_server_pushes_to_exactly_the_families_of_which_one_takes_it() {
        for row in HOSTS {
            let of_family = all().unwrap().iter().filter(|host| host.family == row.family);
            let takers: Vec<[u64; 3]> = of_family
                .filter_map(|host| host.profile.as_deref())
                .filter(|profile| *Mode::Tui.of(&profile.channel.delivered))
                .map(told)
                .collect();
            assert_eq!(row.channel_since.is_some(), !takers.is_empty(), "{}", row.family);
            assert!(takers.iter().all(|version| row.channel_since <= Some(*version)), "{}", row.family);
        }
    }

    #[test]
    fn a_host_of_no_known_name_has_no_row() {
        for host in all().unwrap().iter().filter(|host| host.family == "generic") {
            assert!(host.profile.as_ref().is_none_or(|profile| row_of(profile.client_name()).is_none()));
        }
    }

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
        assert!(value("hooks.setting").is_some(), "what a person sets is told by every column");
    }

    #[test]
    fn hosts_that_play_every_seed_are_hosts() {
        for id in EVERY_SEED {
            assert!(all().unwrap().iter().any(|host| host.id == id), "{id}");
        }
    }
}
