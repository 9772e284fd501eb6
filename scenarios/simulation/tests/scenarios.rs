//! Every scenario as a test of its own name, on one of its hosts: `cargo test --test scenarios -- delivery`. The hosts
//! take turns; the whole matrix is what `simulation run` plays.

use std::collections::BTreeMap;
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};
use reports::event::Status;
use scenario::{Mode, load_builtin, word};
use simulation::plan::{self, Cell, Selection};
use simulation::run::{Repeats, Settings, run_cell};

/// One seed here; `simulation run` explores more.
const SEED: u64 = 1;
/// Half of the tests are real processes, which wait most of the time.
const THREADS_PER_CORE: usize = 8;

fn main() {
    let mut arguments = Arguments::from_args();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    arguments.test_threads.get_or_insert(cores * THREADS_PER_CORE);
    let scenarios = load_builtin().unwrap_or_else(|error| panic!("{error}"));
    let hosts = hostcheck::host::all().unwrap_or_else(|error| panic!("{error:#}"));
    let selection = Selection {
        scenarios: scenarios.to_vec(),
        hosts: hosts.to_vec(),
        modes: vec![Mode::Sim, Mode::Process],
        seed: SEED,
        seeds: 1,
        faults: None,
        sampled: false,
        glance: false,
    };
    let settings = Arc::new(Settings {
        first_seed: SEED,
        server_binary: simulation::command::server_binary(None).unwrap_or_else(|error| panic!("{error:#}")),
        agent_binary: simulation::command::agent_binary().unwrap_or_else(|error| panic!("{error:#}")),
        // `run --full` plays every cell twice.
        repeats: Repeats::Some,
    });
    let trials = in_turns(plan::cells(&selection))
        .into_iter()
        .map(|cell| {
            let settings = Arc::clone(&settings);
            Trial::test(format!("{}::{}::{}", cell.scenario.id(), cell.host.id, word(cell.mode)), move || {
                play(&cell, &settings)
            })
        })
        .collect();
    libtest_mimic::run(&arguments, trials).exit();
}

/// One cell of each scenario and mode that does not take long: the first scenario on its first host, the second on its second, and so on.
/// Setup writes other files for each host, so each host is played.
fn in_turns(cells: Vec<Cell>) -> Vec<Cell> {
    let played = cells.into_iter().filter(|cell| cell.unplayed.is_none() && !cell.scenario.scenario.long);
    let (mut each, others): (Vec<_>, Vec<_>) = played.partition(|cell| cell.scenario.scenario.runs_setup());
    let mut by_scenario: BTreeMap<(String, String), Vec<Cell>> = BTreeMap::new();
    for cell in others {
        by_scenario.entry((cell.scenario.id().to_owned(), word(cell.mode))).or_default().push(cell);
    }
    let turns = by_scenario.into_values().enumerate();
    each.extend(turns.map(|(turn, mut cells)| cells.swap_remove(turn % cells.len())));
    // Nothing is left to play beside a process that takes a minute and begins last.
    each.sort_by_key(|cell| cell.mode != Mode::Process || !cell.scenario.scenario.slow_process);
    each
}

fn play(cell: &Cell, settings: &Settings) -> Result<(), Failed> {
    let finished = run_cell(cell, settings);
    if matches!(finished.status, Status::Pass | Status::KnownIssue) {
        return Ok(());
    }
    let mut said = vec![format!("{:?}: {}", finished.status, finished.reason.unwrap_or_default())];
    for failure in finished.failures {
        said.push(format!("{} at {} ms: {}", failure.rule, failure.at_ms, failure.message));
        said.extend(failure.observed.map(|observed| format!("  observed: {observed}")));
    }
    said.push(format!("replay: {}", finished.replay));
    Err(said.join("\n").into())
}
