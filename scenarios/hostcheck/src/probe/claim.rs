//! Facts about a host that logs of the probe show, each with the lines that show it.
//! A fact that two logs show differently is not claimed, nor is one that was only likely.

use std::collections::BTreeMap;

use fake_hosts::Mode;
use serde_json::Value;

use super::session::Said;

/// One fact that was seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// `section.field` of a profile.
    pub fact: &'static str,
    /// For facts that differ by mode: in which it was seen.
    pub mode: Option<Mode>,
    /// The value, as a profile writes it.
    pub value: Value,
    /// The lines that show it.
    pub evidence: String,
}

/// All that was drawn from some logs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Claims {
    /// What was seen, in the order in which it was found.
    pub seen: Vec<Claim>,
    /// What was seen differently: the fact, and both sights.
    pub contradictions: BTreeMap<&'static str, String>,
    /// The longest result that a model saw to its end, and the shortest one that it did not, in characters.
    pub sizes: Option<(u64, Option<u64>)>,
    /// What was seen in part only: the fact, and what is known of it.
    pub hints: BTreeMap<&'static str, String>,
}

impl Claims {
    /// A fact that holds in both modes.
    pub(super) fn add(&mut self, fact: &'static str, value: Value, evidence: String) {
        self.keep(Claim { fact, mode: None, value, evidence });
    }

    /// A fact of the session's mode.
    pub(super) fn add_mode(&mut self, fact: &'static str, mode: Mode, value: Value, evidence: String) {
        self.keep(Claim { fact, mode: Some(mode), value, evidence });
    }

    /// Something is known of a fact, and not enough.
    pub(super) fn hint(&mut self, fact: &'static str, words: String) {
        self.hints.entry(fact).or_insert(words);
    }

    fn keep(&mut self, claim: Claim) {
        match self.seen.iter().find(|seen| seen.fact == claim.fact && seen.mode == claim.mode) {
            None => self.seen.push(claim),
            Some(seen) if seen.value == claim.value => {}
            Some(seen) => {
                let both =
                    format!("{} ({}), {} ({})", seen.value, seen.evidence, claim.value, claim.evidence);
                self.contradictions.entry(claim.fact).or_insert(both);
            }
        }
    }

    /// The claim of a fact, in a mode where it differs by mode.
    pub fn get(&self, fact: &str, mode: Option<Mode>) -> Option<&Claim> {
        self.seen.iter().find(|claim| claim.fact == fact && (claim.mode.is_none() || claim.mode == mode))
    }
}

/// A time that a program set, from the time that was measured: what is small against it is the machine's own.
pub(super) fn rounded_ms(measured_ms: u64) -> u64 {
    let step = match measured_ms {
        0..100 => 1,
        100..1_000 => 10,
        _ => 100,
    };
    (measured_ms + step / 2) / step * step
}

/// The names of an object's members, as JSON.
pub(super) fn order(said: &Said) -> Value {
    said.order().into()
}
