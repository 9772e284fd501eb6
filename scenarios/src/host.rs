//! The hosts that a cell can have: every profile, and the bare pipe. Knows what a host can do, never how.

use std::sync::{Arc, LazyLock};

use fakes::host::{DoorKind, Mode, Parallel, Profile};
use reports::event::{ColumnKind, HostColumn, HostFact};

use crate::scenario::Need;

/// A pipe without a host's manners, for what a scenario writes itself.
pub const BARE: &str = "generic@bare";

/// A call limit from which on a call counts as endless, in milliseconds: a day.
const ENDLESS_MS: u64 = 24 * 3_600_000;

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
    let profiles = fakes::host::profiles().map_err(|error| error.to_string())?;
    let mut hosts: Vec<Arc<Host>> = profiles
        .into_iter()
        .map(|profile| {
            Arc::new(Host { id: profile.id.clone(), family: profile.family.clone(), profile: Some(profile) })
        })
        .collect();
    hosts.push(Arc::new(Host { id: BARE.to_owned(), family: "generic".to_owned(), profile: None }));
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

    fn version(&self) -> &str {
        self.id.split_once('@').map_or("", |(_, version)| version)
    }

    /// Why this host does not meet a need; nothing when it does.
    pub fn lacks(&self, need: Need) -> Option<&'static str> {
        let Some(profile) = &self.profile else { return Some("a bare pipe has no manners") };
        let limit_ms = *profile.calls.timeout_ms;
        let channel = *Mode::Tui.of(&profile.channel.delivered);
        let in_background = Mode::Tui.of(&profile.calls.background_after_ms).is_some();
        let endless = in_background || *profile.calls.progress_extends || limit_ms >= ENDLESS_MS;
        let shell = *profile.shell.available && *Mode::Tui.of(&profile.shell.wakes);
        let hooks = &profile.hooks;
        let hooked = *Mode::Tui.of(&hooks.run);
        let door = *profile.door.kind != DoorKind::None && *Mode::Tui.of(&profile.door.wakes);
        let (met, why) = match need {
            Need::Channel => (channel, "a channel push does not reach this host's model"),
            Need::NoChannel => (!channel, "this host delivers channel pushes, so none is dropped"),
            Need::Permission => (
                *Mode::Tui.of(&profile.channel.permission_relayed),
                "this host does not tell the server of its permission dialogs",
            ),
            Need::HardLimit60 => (
                limit_ms == 60_000 && !*profile.calls.progress_extends,
                "this host has no hard call limit of 60 s",
            ),
            Need::CallLimit => (limit_ms <= 200_000, "this host's call limit is too long to wait out"),
            Need::Probe => (*profile.opening.probe, "this host does not probe `server/discover`"),
            Need::InterruptTold => (
                profile.calls.interrupt_reason.is_some(),
                "this host does not tell the server of an interrupt",
            ),
            Need::InterruptUntold => {
                (profile.calls.interrupt_reason.is_none(), "this host tells the server of an interrupt")
            }
            Need::ParallelCalls => {
                (*profile.calls.parallel != Parallel::Serial, "this host runs calls one after another")
            }
            Need::Background => (in_background, "a call that lasts holds this host's turn"),
            Need::EndlessCall => (endless, "this host ends every call that lasts"),
            Need::NoEndlessCall => (!endless, "a call can last on this host"),
            Need::Shell => (shell, "no background shell wakes this host's model"),
            Need::NoShell => (!shell, "a background shell wakes this host's model"),
            Need::TurnEndHook => {
                (hooks.turn_end.is_some() && hooked, "this host has no hook at the end of a turn")
            }
            Need::AfterToolHook => {
                (hooks.after_tool.is_some() && hooked, "no hook of this host adds to a tool's result")
            }
            Need::PromptHook => (hooks.prompt.is_some() && hooked, "no hook of this host adds to a prompt"),
            Need::Door => (door, "nothing from outside can start a turn of this host"),
            Need::Task => {
                let tasks = &profile.tasks;
                let follows = *Mode::Tui.of(&tasks.followed) && *Mode::Tui.of(&tasks.wakes);
                (follows, "no MCP task wakes this host's model")
            }
        };
        (!met).then_some(why)
    }

    /// The matrix's column.
    pub fn column(&self) -> HostColumn {
        let facts = self.profile.iter().flat_map(|profile| profile.evidence());
        HostColumn {
            id: self.id.clone(),
            family: self.family.clone(),
            version: self.version().to_owned(),
            kind: ColumnKind::Host,
            evidence: self.about().to_owned(),
            facts: facts
                .map(|fact| HostFact {
                    name: fact.name,
                    value: fact.value.to_string(),
                    source: format!("{}: {}", fact.mark, fact.source),
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use entraclaw::mcp::{HOSTS, HostRow};

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

    #[test]
    fn the_server_pushes_to_exactly_the_families_of_which_one_takes_it() {
        for row in HOSTS {
            let takes = all().unwrap().iter().any(|host| {
                host.family == row.family
                    && host.profile.as_ref().is_some_and(|one| *Mode::Tui.of(&one.channel.delivered))
            });
            assert_eq!(row.takes_channel, takes, "{}", row.family);
        }
    }

    #[test]
    fn a_host_of_no_known_name_has_no_row() {
        for host in all().unwrap().iter().filter(|host| host.family == "generic") {
            assert!(host.profile.as_ref().is_none_or(|profile| row_of(profile.client_name()).is_none()));
        }
    }

    #[test]
    fn hosts_that_play_every_seed_are_hosts() {
        for id in EVERY_SEED {
            assert!(all().unwrap().iter().any(|host| host.id == id), "{id}");
        }
    }
}
