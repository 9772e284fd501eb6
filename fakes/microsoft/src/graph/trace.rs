//! The rules that the fake followed in one call, or in all calls on a world.
//! It only remembers rules, and must never change an answer.

use std::collections::BTreeSet;

use super::rules::RuleId;

#[derive(Debug, Clone, Default)]
pub(super) struct Trace {
    pub(super) rules: BTreeSet<RuleId>,
}

impl Trace {
    pub(super) fn note(&mut self, rule: RuleId) {
        self.rules.insert(rule);
    }
}
