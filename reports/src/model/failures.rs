//! The failures, each once. Seeds that fail in the same way are one failure with a count; no failure is
//! dropped without being counted.

use std::collections::{BTreeMap, BTreeSet};

use super::runs::{Numbered, reason};
use super::{Area, FAILURES_MAX, Failure};
use crate::diff;
use crate::event::{self, CellFinished};
use crate::stream::Stream;

/// All failures in the order of the matrix, the worst state first, and the number of those left out.
pub(super) fn list(
    stream: &Stream,
    areas: &[Area],
    runs: &BTreeMap<(&str, &str), Vec<Numbered<'_>>>,
) -> (Vec<Failure>, u64) {
    let mut found = Vec::new();
    for row in areas.iter().flat_map(|area| &area.rows) {
        for host in &stream.header.hosts {
            let runs = runs.get(&(row.id.as_str(), host.id.as_str()));
            of_cell(&row.file, runs.map_or(&[], Vec::as_slice), &mut found);
        }
    }
    found.sort_by_key(|failure: &Failure| std::cmp::Reverse(failure.state.severity()));
    let left_out = found.len().saturating_sub(FAILURES_MAX);
    found.truncate(FAILURES_MAX);
    (found, left_out as u64)
}

fn of_cell(file: &str, runs: &[Numbered<'_>], found: &mut Vec<Failure>) {
    let mut places: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for (_, run) in runs.iter().filter(|(_, run)| run.status.is_defect()) {
        let unnamed;
        let failures = if run.failures.is_empty() {
            unnamed = [without_rule(run)];
            &unnamed[..]
        } else {
            &run.failures[..]
        };
        let mut counted = BTreeSet::new();
        for failure in failures {
            let place = *places.entry((&run.mode, failure.rule.clone())).or_insert_with(|| {
                found.push(first(file, run, failure));
                found.len() - 1
            });
            found[place].times += 1;
            found[place].runs += u64::from(counted.insert(place));
        }
    }
}

/// The failure of a run that broke without naming a rule; its rule is its state.
fn without_rule(run: &CellFinished) -> event::Failure {
    event::Failure::new(run.status.word(), run.elapsed_ms, reason(run).unwrap_or_default())
}

fn first(file: &str, run: &CellFinished, failure: &event::Failure) -> Failure {
    let texts = (failure.expected.as_deref(), failure.observed.as_deref());
    Failure {
        scenario: run.scenario.clone(),
        host: run.host.clone(),
        mode: run.mode.clone(),
        seed: run.seed,
        state: run.status,
        rule: failure.rule.clone(),
        message: failure.message.clone(),
        at_ms: failure.at_ms,
        step: failure.step,
        place: match (&failure.place, failure.line) {
            (Some(place), _) => place.clone(),
            (None, Some(line)) => format!("{file}:{line}"),
            (None, None) => file.to_owned(),
        },
        diff: if texts == (None, None) {
            Vec::new()
        } else {
            diff::lines(texts.0.unwrap_or_default(), texts.1.unwrap_or_default())
        },
        replay: run.replay.clone(),
        times: 0,
        runs: 0,
    }
}
