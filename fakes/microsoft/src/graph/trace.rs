//! The rules that one call, or the whole life of a world, went by.
//! It only remembers; it never changes what is done.

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
