//! The answer to a person's first question: how a message reaches the model of each host, how fast, and what that takes.

use super::{Host, Reach, Report, Setting, Times};
use crate::event::SIM;

/// Most ways to an idle or a busy model, the quickest first; one that takes no setting is added.
const WAYS_MAX: usize = 2;

/// A way to a model, by its times in simulated runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way<'a> {
    /// The carrier.
    pub carrier: &'a str,
    /// Its times.
    pub times: Times,
    /// The user's settings that it takes.
    pub set_up: &'a [Setting],
}

/// The newest version of a host, and the ways to its model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached<'a> {
    /// Its number among the columns, from 1.
    pub column: usize,
    /// Its id.
    pub id: &'a str,
    /// Ways to its idle model, the quickest first.
    pub idle: Vec<Way<'a>>,
    /// Ways to its busy model.
    pub busy: Vec<Way<'a>>,
}

impl Report {
    /// The newest version of each family whose model was reached, in the order of the columns.
    pub fn reached(&self) -> Vec<Reached<'_>> {
        let hosts = newest(&self.hosts).into_iter().filter(|(_, host)| !host.reach.is_empty());
        hosts
            .map(|(column, host)| Reached {
                column,
                id: &host.id,
                idle: quickest(&host.reach, |reach| reach.idle),
                busy: quickest(&host.reach, |reach| reach.busy),
            })
            .collect()
    }
}

/// The newest version of each family, with its number among the columns. A variant without a number comes after all
/// versions.
fn newest(hosts: &[Host]) -> Vec<(usize, &Host)> {
    let is_numbered = |host: &Host| host.version.starts_with(|first: char| first.is_ascii_digit());
    let mut newest: Vec<(usize, &Host)> = Vec::new();
    for (column, host) in (1..).zip(hosts) {
        match newest.iter_mut().find(|(_, one)| one.family == host.family) {
            Some(one) if is_numbered(host) || !is_numbered(one.1) => *one = (column, host),
            Some(_) => {}
            None => newest.push((column, host)),
        }
    }
    newest
}

/// The quickest ways of simulated runs by their medians, and the quickest of those that take no setting.
fn quickest(reach: &[Reach], times: impl Fn(&Reach) -> Option<Times>) -> Vec<Way<'_>> {
    let simulated = reach.iter().filter(|reach| reach.mode == SIM);
    let mut ways: Vec<Way<'_>> = simulated
        .filter_map(|reach| {
            Some(Way { carrier: &reach.carrier, times: times(reach)?, set_up: &reach.set_up })
        })
        .collect();
    ways.sort_by_key(|way| (way.times.p50_ms, way.carrier));
    let free = ways.iter().position(|way| way.set_up.is_empty());
    let kept = |number: usize| number < WAYS_MAX || free == Some(number);
    let numbered = ways.into_iter().enumerate().filter(|(number, _)| kept(*number));
    numbered.map(|(_, way)| way).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(carrier: &str, idle_ms: u64, settings: &[&str]) -> Reach {
        let set_up = settings.iter().map(|name| Setting { name: (*name).to_owned(), means: None }).collect();
        let idle = Some(Times { messages: 1, p50_ms: idle_ms, p99_ms: idle_ms });
        Reach { mode: SIM.to_owned(), carrier: carrier.to_owned(), set_up, idle, busy: None }
    }

    #[test]
    fn the_quickest_come_first_and_one_that_takes_nothing_is_always_there() {
        let real = Reach { mode: "process".to_owned(), ..reach("real", 1, &[]) };
        let all = [
            reach("pull", 900, &[]),
            reach("hook", 50, &["hooks"]),
            reach("wake", 20, &["wake_up"]),
            reach("shell", 30, &["shell"]),
            real,
        ];
        let carriers: Vec<_> = quickest(&all, |reach| reach.idle).iter().map(|way| way.carrier).collect();
        assert_eq!(carriers, ["wake", "shell", "pull"]);
        assert!(quickest(&all, |reach| reach.busy).is_empty());
    }
}
