//! What is asked of a server, one file an area. A probe is a short conversation that answers one or more checks.
//! A probe tells what it saw; whether a row of the protocol holds follows from its checks elsewhere.

mod cancellation;
mod endings;
mod errors;
mod input;
mod lifecycle;
mod openings;
mod progress;
mod resources;
mod stateless;
mod subscriptions;
mod tools;
mod web;

use futures_util::future::LocalBoxFuture;
use schemas::Version;

use super::lab::{Lab, Trouble};
use super::target::Target;

pub(crate) use tools::none_callable;

/// In which versions a probe makes sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// All of them.
    Both,
    /// Those that open with `initialize`.
    Legacy,
    /// Those without a session.
    Modern,
}

impl Era {
    pub(crate) fn has(self, version: Version) -> bool {
        match self {
            Self::Both => true,
            Self::Legacy => !version.is_modern(),
            Self::Modern => version.is_modern(),
        }
    }
}

/// What a probe needs of a server's connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Any connection.
    Nothing,
    /// Bytes that arrive as they were written.
    Pipes,
    /// A process, its signals and its stderr.
    Process,
    /// Requests of HTTP.
    Address,
}

impl Needs {
    /// Why a target can't have it.
    pub(crate) fn missing(self, target: &Target) -> Option<&'static str> {
        match self {
            Self::Pipes if !target.has_pipes() => Some("about pipes; this server is reached by an address"),
            Self::Address if !target.has_address() => Some("about streamable HTTP; this server has pipes"),
            Self::Process if !target.has_process() => Some("about a process; this server is not one of ours"),
            _ => None,
        }
    }
}

type Run = for<'a> fn(&'a mut Lab) -> LocalBoxFuture<'a, Result<(), Trouble>>;

/// A conversation that answers checks.
pub(crate) struct Probe {
    /// Its name in reports.
    pub(crate) name: &'static str,
    /// Every check that it can tell about.
    pub(crate) checks: &'static [&'static str],
    pub(crate) era: Era,
    pub(crate) needs: Needs,
    /// Whether all its lines are those of a server that was treated roughly, which say nothing of the rules of the wire.
    pub(crate) rough: bool,
    pub(crate) run: Run,
}

impl Probe {
    const fn new(name: &'static str, checks: &'static [&'static str], era: Era, run: Run) -> Self {
        Self { name, checks, era, needs: Needs::Nothing, rough: false, run }
    }

    const fn over(mut self, needs: Needs) -> Self {
        self.needs = needs;
        self
    }

    const fn rough(mut self) -> Self {
        self.rough = true;
        self
    }
}

/// Every probe, area by area.
pub(crate) fn probes() -> impl Iterator<Item = &'static Probe> {
    let areas: [&'static [Probe]; 12] = [
        lifecycle::PROBES,
        openings::PROBES,
        stateless::PROBES,
        tools::PROBES,
        resources::PROBES,
        subscriptions::PROBES,
        cancellation::PROBES,
        progress::PROBES,
        errors::PROBES,
        input::PROBES,
        endings::PROBES,
        web::PROBES,
    ];
    areas.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_probes_answer_the_same_check() {
        let mut seen = BTreeSet::new();
        for probe in probes() {
            assert!(!probe.checks.is_empty(), "{}", probe.name);
            for check in probe.checks {
                assert!(seen.insert(*check), "{check}");
                assert!(!check.starts_with("wire."), "{check} is the validator's");
            }
        }
    }
}
