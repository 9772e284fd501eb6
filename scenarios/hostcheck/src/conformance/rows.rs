//! The requirements of the protocol: one row for each, with its checks or the reason why it has none. Reading
//! refuses a row that names an unknown check, or that has no check, no fact of hosts and no reason.

use std::collections::BTreeSet;

use super::check;
use super::row::{Area, Placed};

/// The files, in the order of the report.
const FILES: [(&str, &str); 12] = [
    ("scenarios/protocol/stdio.yaml", include_str!("../../../protocol/stdio.yaml")),
    ("scenarios/protocol/messages.yaml", include_str!("../../../protocol/messages.yaml")),
    ("scenarios/protocol/lifecycle.yaml", include_str!("../../../protocol/lifecycle.yaml")),
    ("scenarios/protocol/openings.yaml", include_str!("../../../protocol/openings.yaml")),
    ("scenarios/protocol/tools.yaml", include_str!("../../../protocol/tools.yaml")),
    ("scenarios/protocol/resources.yaml", include_str!("../../../protocol/resources.yaml")),
    ("scenarios/protocol/prompts.yaml", include_str!("../../../protocol/prompts.yaml")),
    ("scenarios/protocol/subscriptions.yaml", include_str!("../../../protocol/subscriptions.yaml")),
    ("scenarios/protocol/calls.yaml", include_str!("../../../protocol/calls.yaml")),
    ("scenarios/protocol/pipes.yaml", include_str!("../../../protocol/pipes.yaml")),
    ("scenarios/protocol/http.yaml", include_str!("../../../protocol/http.yaml")),
    ("scenarios/protocol/hosts.yaml", include_str!("../../../protocol/hosts.yaml")),
];

/// Every row, also the excluded ones.
///
/// # Errors
/// If a file can't be read or a row is not valid; both are faults of this program.
pub fn all() -> anyhow::Result<Vec<Placed>> {
    let mut rows = Vec::new();
    let mut seen = BTreeSet::new();
    let known: BTreeSet<&str> = check::probes().flat_map(|probe| probe.checks).copied().collect();
    for (file, text) in FILES {
        let area: Area = yaml::read(text).map_err(|error| anyhow::anyhow!("{file}: {error}"))?;
        for row in area.rows {
            anyhow::ensure!(seen.insert(row.id.clone()), "{file}: two rows are named {}", row.id);
            let answers = [!row.checks.is_empty(), !row.facts.is_empty(), row.excluded.is_some()];
            anyhow::ensure!(
                answers.iter().filter(|given| **given).count() == 1,
                "{file}: {} needs one of checks, facts and an excluded reason",
                row.id
            );
            for fact in &row.facts {
                let known = crate::support::of_fact(fact).is_some();
                anyhow::ensure!(known, "{file}: {} names the fact {fact}, which answers no feature", row.id);
            }
            for check in &row.checks {
                let rule = check.strip_prefix("wire.");
                let answered = known.contains(check.as_str())
                    || super::hosts::checks().any(|known| known == check)
                    || rule.is_some_and(is_rule);
                anyhow::ensure!(
                    answered,
                    "{file}: {} names the check {check}, which no probe answers",
                    row.id
                );
            }
            rows.push(Placed { area: area.area.clone(), file, row });
        }
    }
    Ok(rows)
}

fn is_rule(name: &str) -> bool {
    name == "schema" || name == super::spread::RULE || schemas::rules().iter().any(|rule| rule.id == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::row::HOSTS;

    #[test]
    fn rows_name_known_versions_and_say_whole_sentences() {
        let versions: BTreeSet<&str> =
            schemas::Version::ALL.iter().map(|version| version.as_str()).chain([HOSTS]).collect();
        for placed in all().unwrap() {
            let row = placed.row;
            assert!(row.says.ends_with('.'), "{}", row.id);
            assert!(!row.r#in.is_empty(), "{}", row.id);
            for version in row.r#in.keys() {
                assert!(versions.contains(version.as_str()), "{}: {version}", row.id);
            }
            let is_elsewhere = row.r#in.values().any(|place| place.starts_with("https://"));
            assert_eq!(is_elsewhere, row.sentence.is_some(), "{} needs the sentence of its address", row.id);
        }
    }

    /// What binds is what the specification says; what hosts do besides is shown in their own columns.
    #[test]
    fn what_a_server_must_do_stands_in_the_specification() {
        for placed in all().unwrap() {
            let practice = placed
                .row
                .r#in
                .iter()
                .any(|(version, place)| version != HOSTS && place.starts_with("practice: "));
            let binds = placed.row.level == super::super::row::Level::Must && placed.row.facts.is_empty();
            assert!(!binds || !practice, "{} is a MUST by practice only", placed.row.id);
        }
    }

    #[test]
    fn every_check_stands_behind_a_row() {
        let rows = all().unwrap();
        let named: BTreeSet<&str> =
            rows.iter().flat_map(|placed| &placed.row.checks).map(String::as_str).collect();
        let probes = check::probes().flat_map(|probe| probe.checks).copied();
        for check in probes.chain(super::super::hosts::checks()) {
            assert!(named.contains(check), "{check} is answered for no row");
        }
    }

    #[test]
    fn a_check_is_named_only_in_versions_that_can_answer_it() {
        for placed in all().unwrap() {
            for check in &placed.row.checks {
                let Some(probe) = check::probes().find(|probe| probe.checks.contains(&check.as_str())) else {
                    continue;
                };
                for version in placed.row.r#in.keys() {
                    let version = version.parse().expect("a version");
                    assert!(probe.era.has(version), "{} in {version}: {check}", placed.row.id);
                }
            }
        }
    }
}
