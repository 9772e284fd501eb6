//! The carriers that brought messages to a host's idle and busy model, their times, and the user's settings
//! for them. Only runs that passed count, and virtual time is never mixed with real time.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::deliveries::percentile;
use crate::event::{CellFinished, HostFact, Status};

/// A carrier that reached a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Reach {
    /// `sim` or `process`.
    pub mode: String,
    /// The carrier of the message, or of the wake-up if the message had to be read then.
    pub carrier: String,
    /// The settings that were on in every run in which it did.
    pub set_up: Vec<Setting>,
    /// Messages that were written while the session was idle.
    pub idle: Option<Times>,
    /// Messages that were written while the model worked.
    pub busy: Option<Times>,
}

/// A setting of the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Setting {
    /// The scenario's name for it.
    pub name: String,
    /// The setting on this host, by its profile.
    pub means: Option<String>,
}

/// Times from the writing of a message to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Times {
    /// Number of messages.
    pub messages: u64,
    /// Median, in milliseconds.
    pub p50_ms: u64,
    /// 99th percentile, in milliseconds.
    pub p99_ms: u64,
}

impl Times {
    fn of(mut times_ms: Vec<u64>) -> Option<Self> {
        times_ms.sort_unstable();
        let messages = times_ms.len() as u64;
        Some(Self { messages, p50_ms: percentile(&times_ms, 50)?, p99_ms: percentile(&times_ms, 99)? })
    }
}

#[derive(Default)]
struct Sum {
    set_up: Option<BTreeSet<String>>,
    idle_ms: Vec<u64>,
    busy_ms: Vec<u64>,
}

/// The carriers of a host: simulation first, then by name.
pub(super) fn of(runs: &[&CellFinished], facts: &[HostFact]) -> Vec<Reach> {
    let mut sums: BTreeMap<(std::cmp::Reverse<&str>, &str), Sum> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.status == Status::Pass) {
        let set: BTreeSet<String> = run.set_up.iter().cloned().collect();
        for arrival in &run.arrivals {
            let sum = sums.entry((std::cmp::Reverse(&run.mode), &arrival.carrier)).or_default();
            sum.set_up = Some(match sum.set_up.take() {
                Some(before) => before.intersection(&set).cloned().collect(),
                None => set.clone(),
            });
            if arrival.busy { &mut sum.busy_ms } else { &mut sum.idle_ms }.push(arrival.ms);
        }
    }
    let reach = |((mode, carrier), sum): ((std::cmp::Reverse<&str>, &str), Sum)| Reach {
        mode: mode.0.to_owned(),
        carrier: carrier.to_owned(),
        set_up: sum.set_up.unwrap_or_default().into_iter().map(|name| setting(name, facts)).collect(),
        idle: Times::of(sum.idle_ms),
        busy: Times::of(sum.busy_ms),
    };
    sums.into_iter().map(reach).collect()
}

fn setting(name: String, facts: &[HostFact]) -> Setting {
    let section = if name == "experimental" { "tasks" } else { &name };
    let wanted = format!("{section}.setting");
    let found = facts.iter().find(|fact| fact.name == wanted);
    let value = found.and_then(|fact| serde_json::from_str::<Option<String>>(&fact.value).ok().flatten());
    Setting { name, means: value }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Arrival;

    fn run(set_up: &[&str], arrivals: &[(&str, bool, u64)], status: Status) -> CellFinished {
        CellFinished {
            seed: 1,
            arrivals: arrivals
                .iter()
                .map(|(carrier, busy, ms)| Arrival { carrier: (*carrier).to_owned(), busy: *busy, ms: *ms })
                .collect(),
            set_up: set_up.iter().map(|name| (*name).to_owned()).collect(),
            ..CellFinished::new("a.b", "h@1", "sim", status)
        }
    }

    #[test]
    fn a_carrier_needs_only_the_settings_of_every_run() {
        let one = run(&["hooks", "shell"], &[("hook", true, 7), ("hook", false, 9)], Status::Pass);
        let two = run(&["channel", "hooks"], &[("hook", true, 5), ("inbox_pull", true, 1)], Status::Pass);
        let failed = run(&["hooks"], &[("hook", true, 999)], Status::Fail);
        let fact = |name: &str, value: &str| HostFact {
            name: name.to_owned(),
            value: value.to_owned(),
            source: String::new(),
        };
        let facts = [fact("hooks.setting", "\"a file\""), fact("shell.setting", "null")];
        let found = of(&[&one, &two, &failed], &facts);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].carrier, "hook");
        assert_eq!(found[0].set_up, [Setting { name: "hooks".to_owned(), means: Some("a file".to_owned()) }]);
        assert_eq!(found[0].busy, Some(Times { messages: 2, p50_ms: 5, p99_ms: 7 }));
        assert_eq!(found[0].idle, Some(Times { messages: 1, p50_ms: 9, p99_ms: 9 }));
        assert_eq!((found[1].idle, found[1].set_up.len()), (None, 2));
    }
}
