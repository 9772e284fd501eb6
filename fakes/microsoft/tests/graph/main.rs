//! The fake Graph, held to its own table of rules: every rule has a case, every case names its rules.

mod bench;
mod chats;
mod determinism;
mod faults;
mod http;
mod mail;
mod messages;
mod paging;
mod payloads;
mod throttle;
mod transport;
mod writes;

use std::collections::BTreeSet;

use fake_microsoft::graph::{RuleId, rules};

#[test]
fn every_rule_has_a_case() {
    let cases = [
        chats::cases(),
        faults::cases(),
        mail::cases(),
        messages::cases(),
        payloads::cases(),
        throttle::cases(),
        transport::cases(),
        writes::cases(),
    ];
    let tested: BTreeSet<RuleId> =
        cases.iter().flatten().flat_map(|(_, rules)| rules.iter().copied()).collect();
    let untested: Vec<RuleId> =
        rules().iter().map(|rule| rule.id).filter(|id| !tested.contains(id)).collect();
    assert!(untested.is_empty(), "rules without a case: {untested:?}");
    assert_eq!(tested.len(), rules().len());
}
