//! The probes, one file for each area. A probe is a short conversation that answers one or more checks. It
//! reports what it saw; the verdict on a row of the protocol follows elsewhere from its checks.

mod cancellation;
mod endings;
mod errors;
mod input;
mod lifecycle;
mod openings;
mod probe;
mod progress;
mod resources;
mod stateless;
mod subscriptions;
mod tools;
mod web;

pub(crate) use probe::{Needs, Probe};
pub(crate) use tools::none_callable;

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
