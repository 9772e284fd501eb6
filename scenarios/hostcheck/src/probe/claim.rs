//! Facts about a host that the probe's logs show, each with the lines that show it. A fact on which two logs
//! disagree is not claimed, nor is one that is only likely.

use std::collections::BTreeMap;

use fake_hosts::Mode;
use serde_json::Value;

use super::session::Said;

/// One observed fact.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// `section.field` of a profile.
    pub fact: &'static str,
    /// For facts that differ by mode: the mode in which it was observed.
    pub mode: Option<Mode>,
    /// The value, as a profile writes it.
    pub value: Value,
    /// The lines that show it.
    pub evidence: String,
}

/// All claims from a set of logs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Claims {
    /// The observed facts, in the order in which they were found.
    pub seen: Vec<Claim>,
    /// Facts on which the logs disagree: the fact, and both observations.
    pub contradictions: BTreeMap<&'static str, String>,
    /// The longest result that the model saw whole, and the shortest that it did not, in characters.
    pub sizes: Option<(u64, Option<u64>)>,
    /// Facts that were observed only partly: the fact, and what is known of it.
    pub hints: BTreeMap<&'static str, String>,
}

impl Claims {
    /// Adds a fact that holds in both modes.
    pub(super) fn add(&mut self, fact: &'static str, value: Value, evidence: String) {
        self.keep(Claim { fact, mode: None, value, evidence });
    }

    /// Adds a fact that holds in one mode.
    pub(super) fn add_mode(&mut self, fact: &'static str, mode: Mode, value: Value, evidence: String) {
        self.keep(Claim { fact, mode: Some(mode), value, evidence });
    }

    /// Adds a partial observation of a fact.
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

    /// The claim of a fact; in one mode if the fact differs by mode.
    pub fn get(&self, fact: &str, mode: Option<Mode>) -> Option<&Claim> {
        self.seen.iter().find(|claim| claim.fact == fact && (claim.mode.is_none() || claim.mode == mode))
    }
}

/// Rounds a measured time to the limit that a program has set: the small rest is the machine's own delay.
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
