//! The known facts of hosts, shown once for the versions of a family that share them. A value must never be
//! attributed to a version that does not have it.

use std::collections::BTreeMap;

use crate::model::{Host, Report};

/// Hosts of one family, in column order.
pub(super) struct Family<'a> {
    pub(super) name: &'a str,
    /// The hosts with their columns, from 1.
    pub(super) hosts: Vec<(usize, &'a Host)>,
    pub(super) facts: Vec<Fact<'a>>,
    pub(super) session: Vec<Fact<'a>>,
}

/// A fact and all its values in the family.
pub(super) struct Fact<'a> {
    pub(super) name: &'a str,
    pub(super) values: Vec<Value<'a>>,
}

/// A value and the versions that have it.
pub(super) struct Value<'a> {
    pub(super) text: &'a str,
    /// Its source, or the number of runs in which it was observed.
    pub(super) source: String,
    /// The versions; empty for every version.
    pub(super) versions: String,
    columns: Vec<usize>,
    runs: u64,
}

/// The report's hosts by family, in the order of their first column.
pub(super) fn of(report: &Report) -> Vec<Family<'_>> {
    let mut families: Vec<Family<'_>> = Vec::new();
    for (column, host) in report.hosts.iter().enumerate() {
        let place = families.iter().position(|family| family.name == host.family).unwrap_or_else(|| {
            families.push(Family {
                name: &host.family,
                hosts: Vec::new(),
                facts: Vec::new(),
                session: Vec::new(),
            });
            families.len() - 1
        });
        let family = &mut families[place];
        family.hosts.push((column + 1, host));
        for fact in &host.facts {
            add(&mut family.facts, &fact.name, &fact.value, &fact.source, column, 0);
        }
        for fact in &host.session {
            for value in &fact.values {
                add(&mut family.session, &fact.name, &value.value, "", column, value.runs);
            }
        }
    }
    for family in &mut families {
        let all = family.hosts.len();
        for value in family.facts.iter_mut().chain(&mut family.session).flat_map(|fact| &mut fact.values) {
            if value.columns.len() < all {
                let versions = value.columns.iter().map(|&column| report.hosts[column].version.as_str());
                value.versions = versions.collect::<Vec<_>>().join(", ");
            }
            if value.runs > 0 {
                value.source = crate::text::counted(value.runs, "run", "runs");
            }
        }
    }
    families
}

fn add<'a>(facts: &mut Vec<Fact<'a>>, name: &'a str, value: &'a str, source: &str, column: usize, runs: u64) {
    let place = facts.iter().position(|fact| fact.name == name).unwrap_or_else(|| {
        facts.push(Fact { name, values: Vec::new() });
        facts.len() - 1
    });
    let values = &mut facts[place].values;
    let known = values.iter_mut().find(|known| known.text == value && (runs > 0 || known.source == source));
    match known {
        Some(known) => {
            known.columns.push(column);
            known.runs += runs;
        }
        None => values.push(Value {
            text: value,
            source: source.to_owned(),
            versions: String::new(),
            columns: vec![column],
            runs,
        }),
    }
}

/// Names columns: `all 28 hosts`, or each family with its versions.
pub(super) fn versions(hosts: &[Host], columns: &[usize]) -> String {
    if columns.len() == hosts.len() && hosts.len() > 1 {
        return format!("all {}", hosts.len());
    }
    let mut order: Vec<&str> = Vec::new();
    let mut families: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for &column in columns {
        let Host { family, version, .. } = &hosts[column];
        families
            .entry(family)
            .or_insert_with(|| {
                order.push(family);
                Vec::new()
            })
            .push(version);
    }
    let words = order.iter().map(|family| format!("{family} {}", families[family].join(", ")));
    words.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_told_by_family() {
        let host = |family: &str, version: &str| Host {
            id: format!("{family}@{version}"),
            family: family.to_owned(),
            version: version.to_owned(),
            kind: crate::event::ColumnKind::Host,
            evidence: String::new(),
            facts: Vec::new(),
            cells: BTreeMap::new(),
            levels: BTreeMap::new(),
            deliveries: Vec::new(),
            carriers: Vec::new(),
            reach: Vec::new(),
            session: Vec::new(),
        };
        let hosts = [host("claude-code", "1"), host("codex", "7"), host("claude-code", "2")];
        assert_eq!(versions(&hosts, &[0, 1, 2]), "all 3");
        assert_eq!(versions(&hosts, &[0, 2]), "claude-code 1, 2");
        assert_eq!(versions(&hosts, &[1, 2]), "codex 7; claude-code 2");
    }
}
