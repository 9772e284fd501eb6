//! The data of a column besides its cells: delivery times, carriers, session facts. Virtual and real time
//! must never be mixed, and a carrier must never get a time that another carrier may have caused.

use std::collections::BTreeMap;

use super::deliveries::percentile;
use super::{Area, Carrier, Deliveries, Host, SessionFact, SessionValue};
use crate::counts::{Counts, count, no_counts};
use crate::event::{CellFinished, HostColumn, SIM};
use crate::stream::Stream;

/// Most values of a session fact that are named; the rest is counted.
pub(super) const SESSION_VALUES_MAX: usize = 4;

/// One column for each host, in the order of the header.
pub(super) fn columns(stream: &Stream, areas: &[Area]) -> Vec<Host> {
    let mut runs: BTreeMap<&str, Vec<&CellFinished>> = BTreeMap::new();
    for cell in &stream.cells {
        runs.entry(&cell.host).or_default().push(cell);
    }
    let columns = stream.header.hosts.iter().enumerate();
    columns
        .map(|(column, host)| {
            let runs = runs.get(host.id.as_str()).map_or(&[][..], Vec::as_slice);
            self::column(column, host, areas, runs)
        })
        .collect()
}

fn column(column: usize, host: &HostColumn, areas: &[Area], runs: &[&CellFinished]) -> Host {
    let mut cells = no_counts();
    let mut levels: BTreeMap<String, Counts> = BTreeMap::new();
    for row in areas.iter().flat_map(|area| &area.rows) {
        let state = row.cells[column].state;
        count(&mut cells, state);
        count(levels.entry(row.level.clone()).or_insert_with(no_counts), state);
    }
    let HostColumn { id, family, version, kind, evidence, facts } = host.clone();
    let reach = super::reach::of(runs, &facts);
    Host {
        id,
        family,
        version,
        kind,
        evidence,
        facts,
        cells,
        levels,
        deliveries: deliveries(runs),
        carriers: carriers(runs),
        reach,
        session: session(runs),
    }
}

fn deliveries(runs: &[&CellFinished]) -> Vec<Deliveries> {
    let mut by_mode: BTreeMap<std::cmp::Reverse<&str>, Vec<u64>> = BTreeMap::new();
    for run in runs {
        by_mode.entry(std::cmp::Reverse(&run.mode)).or_default().extend(&run.delivery_ms);
    }
    by_mode.into_iter().filter_map(|(mode, times)| Deliveries::new(mode.0, times)).collect()
}

fn carriers(runs: &[&CellFinished]) -> Vec<Carrier> {
    let mut messages: BTreeMap<&str, u64> = BTreeMap::new();
    let mut woke: BTreeMap<&str, u64> = BTreeMap::new();
    let mut alone: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for run in runs {
        for (name, count) in &run.carriers {
            let sum = messages.entry(name).or_insert(0);
            *sum = sum.saturating_add(*count);
        }
        let mut used = run.carriers.iter().filter(|(_, count)| **count > 0);
        if let (SIM, Some((only, _)), None) = (run.mode.as_str(), used.next(), used.next()) {
            alone.entry(only).or_default().extend(&run.delivery_ms);
        }
        for line in run.model_view.iter().filter(|line| line.woke) {
            *woke.entry(&line.carrier).or_insert(0) += 1;
        }
    }
    let mut found: Vec<Carrier> = messages
        .into_iter()
        .map(|(name, messages)| Carrier {
            name: name.to_owned(),
            messages,
            woke: woke.get(name).copied().unwrap_or(0),
            p95_ms: alone.get_mut(name).and_then(|times| {
                times.sort_unstable();
                percentile(times, 95)
            }),
        })
        .collect();
    found.sort_by_key(|carrier| std::cmp::Reverse(carrier.messages));
    found
}

fn session(runs: &[&CellFinished]) -> Vec<SessionFact> {
    let mut facts: BTreeMap<&str, BTreeMap<&str, u64>> = BTreeMap::new();
    for run in runs {
        for (name, value) in &run.session {
            *facts.entry(name).or_default().entry(value).or_insert(0) += 1;
        }
    }
    let fact = |(name, values): (&str, BTreeMap<&str, u64>)| {
        let mut values: Vec<_> =
            values.into_iter().map(|(value, runs)| SessionValue { value: value.to_owned(), runs }).collect();
        values.sort_by_key(|value| std::cmp::Reverse(value.runs));
        let values_left_out = values.len().saturating_sub(SESSION_VALUES_MAX) as u64;
        values.truncate(SESSION_VALUES_MAX);
        SessionFact { name: name.to_owned(), values, values_left_out }
    };
    facts.into_iter().map(fact).collect()
}
