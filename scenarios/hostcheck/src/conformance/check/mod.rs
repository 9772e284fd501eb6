//! The probes, one file for each area. A probe is a short conversation that answers one or more checks. It
//! reports what it saw; the verdict on a row of the protocol follows elsewhere from its checks.

mod cancellation;
mod endings;
mod errors;
mod input;
mod lifecycle;
mod load;
mod openings;
mod probe;
mod progress;
mod prompts;
mod resources;
mod stateless;
mod subscriptions;
mod tools;
mod web;

pub(crate) use cancellation::NO_LONG_CALL;
pub(crate) use endings::FAREWELL;
pub(crate) use probe::{Needs, Probe};
pub(crate) use tools::{ends_the_server, may_call, none_callable};

/// How the questions of an area are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// Each on a connection of its own: they are about its beginning.
    Own,
    /// Each on a connection of its own, in one version only: they are about the process, whatever the version is.
    OwnOnce,
    /// One after the other on one connection.
    Shared,
    /// One after the other on one connection, in one version only: they are about bytes, whatever the version is.
    SharedOnce,
}

impl Manner {
    fn is_shared(self) -> bool {
        matches!(self, Self::Shared | Self::SharedOnce)
    }

    fn is_once(self) -> bool {
        matches!(self, Self::OwnOnce | Self::SharedOnce)
    }
}

/// The areas. What takes longest begins first. A `static`, so that a probe has one address.
static AREAS: [(&[Probe], Manner); 14] = [
    (endings::PROBES, Manner::OwnOnce),
    (lifecycle::PROBES, Manner::Own),
    (openings::PROBES, Manner::Own),
    (stateless::PROBES, Manner::Own),
    (tools::PROBES, Manner::Shared),
    (load::PROBES, Manner::Shared),
    (resources::PROBES, Manner::Shared),
    (prompts::PROBES, Manner::Shared),
    (subscriptions::PROBES, Manner::Shared),
    (cancellation::PROBES, Manner::Shared),
    (progress::PROBES, Manner::Shared),
    (errors::PROBES, Manner::Shared),
    (input::PROBES, Manner::SharedOnce),
    (web::PROBES, Manner::Own),
];

/// Every probe, with the manner of its area.
fn placed() -> impl Iterator<Item = (&'static Probe, Manner)> {
    AREAS.iter().flat_map(|(probes, manner)| probes.iter().map(|probe| (probe, *manner)))
}

pub(crate) fn probes() -> impl Iterator<Item = &'static Probe> {
    placed().map(|(probe, _)| probe)
}

/// Whether a check is asked in a quick run, in the first version that is judged or in another, and where its row was named.
pub(crate) fn is_quick(check: &str, is_first: bool, is_named: bool) -> bool {
    let probe = placed().find(|(probe, _)| probe.checks.contains(&check));
    probe.is_none_or(|(probe, manner)| (is_named || !probe.rare) && (is_first || !manner.is_once()))
}

/// Whether a probe shares connections with other questions.
pub(crate) fn is_in_turn(probe: &Probe) -> bool {
    let of_beginnings = placed().any(|(other, manner)| !manner.is_shared() && std::ptr::eq(other, probe));
    probe.in_turn || probe.begins || !of_beginnings
}

/// What the probe of a check needs of a connection; `None` for a check without a probe.
pub(crate) fn needs(check: &str) -> Option<Needs> {
    probes().find(|probe| probe.checks.contains(&check)).map(|probe| probe.needs)
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
