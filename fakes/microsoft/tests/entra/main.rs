//! The fake Entra, held to its own table of rules: every rule has a case, every case names its rules.

mod bench;
mod hops;
mod people;
mod transport;

use std::collections::BTreeSet;

use fake_microsoft::entra::{EntraRuleId, rules};

#[test]
fn every_rule_has_a_case_and_says_where_it_comes_from() {
    let tested: BTreeSet<EntraRuleId> =
        [hops::cases(), people::cases(), transport::cases()].into_iter().flatten().collect();
    let untested: Vec<EntraRuleId> =
        rules().iter().map(|rule| rule.id).filter(|id| !tested.contains(id)).collect();
    assert!(untested.is_empty(), "rules without a case: {untested:?}");
    assert!(rules().iter().all(|rule| !rule.says.is_empty() && !rule.source.is_empty()));
}
