//! Seeds of servers with a fault, made small.

use scenario::faults::FaultProfile;
use scenario::{Mode, load_builtin};

use crate::mutants::{MUTANTS, Mutant};
use crate::plan::{self, Selection};

use super::*;

/// A seed of the scenario, from `first` on, that breaks the rule with the mutant's server.
fn found(
    mutant: &'static Mutant,
    (id, host): (&str, &str),
    faults: Option<&'static FaultProfile>,
    rule: &str,
) -> (Cell, CellFinished) {
    let scenario = load_builtin().unwrap().iter().find(|loaded| loaded.id() == id).unwrap();
    let cells = plan::cells(&Selection {
        scenarios: vec![Arc::clone(scenario)],
        hosts: hostcheck::host::all().unwrap().iter().filter(|one| one.id == host).cloned().collect(),
        modes: vec![Mode::Sim],
        seed: 1,
        seeds: 40,
        faults,
        sampled: false,
        glance: false,
    });
    let mut played = cells.into_iter().map(|cell| {
        let cell = Cell { mutant: Some(mutant), ..cell };
        let finished = play(&cell);
        (cell, finished)
    });
    played.find(|(_, finished)| breaks(finished, rule)).unwrap_or_else(|| panic!("no seed breaks {rule}"))
}

fn mutant(id: &str) -> &'static Mutant {
    MUTANTS.iter().find(|mutant| mutant.id == id).unwrap()
}

/// The small scenario breaks the rule with the mutant's server and none with the honest one.
fn checked(cell: &Cell, finished: &CellFinished, rule: &str) -> Smallest {
    let small = smallest(cell, rule, &finished.failures[0].message, PLAYS_MAX).unwrap();
    let loaded = parse("small.yaml", &small.yaml).unwrap_or_else(|error| panic!("{error}\n{}", small.yaml));
    assert_eq!(loaded.id(), small.id);
    let cell = Cell { scenario: Arc::new(loaded), ..cell.clone() };
    assert!(breaks(&play(&cell), rule), "{}", small.yaml);
    let honest = play(&Cell { mutant: None, ..cell });
    assert_eq!(honest.status, Status::Pass, "{:?}\n{}", honest.failures, small.yaml);
    assert!(small.plays <= PLAYS_MAX + 1);
    small
}

#[test]
fn a_day_that_lost_its_marks_becomes_a_crash_after_a_message() {
    let rule = "oracle.repeated";
    let (cell, finished) = found(mutant("keeps-no-marks"), ("days.random", "claude-code@seed"), None, rule);
    let small = checked(&cell, &finished, rule);
    assert!(small.drawn > 60, "{}", small.drawn);
    assert!(small.steps <= 8, "{}", small.yaml);
}

#[test]
fn a_failure_under_a_fault_profile_is_made_small_too() {
    let crash = FaultProfile::named("crash");
    let (rule, at) = ("expect.model", ("days.random", "claude-code@seed"));
    let (cell, finished) = found(mutant("never-syncs"), at, crash, rule);
    let small = checked(&cell, &finished, rule);
    assert!(small.id.contains("-crash-seed-"), "{}", small.id);
    assert!(small.yaml.contains("power_cut: main"), "{}", small.yaml);
    assert!(small.steps <= 8, "{}", small.yaml);
}

#[test]
fn a_seed_that_breaks_nothing_is_not_made_small() {
    let (cell, _) =
        found(mutant("keeps-no-marks"), ("days.random", "claude-code@seed"), None, "oracle.repeated");
    let honest = Cell { mutant: None, ..cell };
    let said = smallest(&honest, "oracle.repeated", "", PLAYS_MAX).unwrap_err().to_string();
    assert!(said.contains("do not break oracle.repeated"), "{said}");
}
