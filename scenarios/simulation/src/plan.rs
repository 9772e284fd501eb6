//! The cells of a run: every scenario on every host it makes sense for, by mode and seed. Runs nothing.

use std::ops::Range;
use std::sync::Arc;

use fake_hosts::settings::SETTINGS_FAMILIES;
use hostcheck::host::Host;
use hostcheck::support;
use reports::event::{Answer, Feature, HostColumn, HostSupport, ScenarioRow};
use scenario::faults::{FaultProfile, USUAL};
use scenario::{FirstLook, Hosts, Loaded, Mode, Random, Scenario, SetUp, Step, word};

use crate::mutants::Mutant;
use crate::needs;
pub use crate::needs::Unplayed;

/// One run of one scenario.
#[derive(Debug, Clone)]
pub struct Cell {
    /// The scenario.
    pub scenario: Arc<Loaded>,
    /// The host.
    pub host: Arc<Host>,
    /// Where it runs.
    pub mode: Mode,
    /// The seed; 0 in process mode, unless the scenario draws its steps from it.
    pub seed: u64,
    /// The fault profile of drawn steps; as the scenario says when it is left out.
    pub faults: Option<&'static FaultProfile>,
    /// Why it is not played on this host, when it is not.
    pub unplayed: Option<Unplayed>,
    /// The fault that the server is given, to try the harness.
    pub mutant: Option<&'static Mutant>,
}

impl Cell {
    /// The fault profile of a drawn stretch.
    pub(crate) fn faults_of(&self, random: &Random) -> &'static FaultProfile {
        self.faults.or(random.faults.map(|faults| faults.0)).unwrap_or(USUAL)
    }

    /// The profile's name, where one was chosen and the scenario draws its steps.
    pub fn fault_profile(&self) -> Option<&'static str> {
        self.faults.filter(|_| self.scenario.scenario.draws()).map(|faults| faults.name)
    }

    /// `delivery.dm-listening × claude-code@2.1.330 (sim, seed 3)`.
    pub fn name(&self) -> String {
        let Self { scenario, host, mode, seed, .. } = self;
        let faults = self.fault_profile().map(|name| format!(", {name}")).unwrap_or_default();
        match mode {
            Mode::Sim => format!("{} × {} (sim, seed {seed}{faults})", scenario.id(), host.id),
            Mode::Process if scenario.scenario.draws() => {
                format!("{} × {} (process, seed {seed}{faults})", scenario.id(), host.id)
            }
            Mode::Process => format!("{} × {} (process)", scenario.id(), host.id),
        }
    }

    /// The command that runs this cell and nothing else.
    pub fn replay(&self) -> String {
        let Self { scenario, host, mode, seed, .. } = self;
        let program = "cargo run --release -- run";
        let seeded = match mode {
            Mode::Sim => Some("sim"),
            Mode::Process => scenario.scenario.draws().then_some("process"),
        };
        let faults = self.fault_profile().map(|name| format!(" --fault-profile {name}")).unwrap_or_default();
        match seeded {
            Some(mode) => {
                format!(
                    "{program} {} --host {} --mode {mode} --seed {seed} --seeds 1{faults}",
                    scenario.name(),
                    host.id
                )
            }
            None => format!("{program} {} --host {} --mode process", scenario.name(), host.id),
        }
    }
}

/// The selection of cells that the caller asked for.
#[derive(Debug, Clone)]
pub struct Selection {
    /// Scenarios.
    pub scenarios: Vec<Arc<Loaded>>,
    /// Hosts in column order.
    pub hosts: Vec<Arc<Host>>,
    /// Modes.
    pub modes: Vec<Mode>,
    /// First seed.
    pub seed: u64,
    /// Seeds a cell in sim mode.
    pub seeds: u64,
    /// The fault profile of drawn steps; as each scenario says when it is left out.
    pub faults: Option<&'static FaultProfile>,
    /// Whether a host that differs little from another plays one of the seeds only, each such host another one, and in
    /// process mode some of the scenarios only.
    pub sampled: bool,
    /// Whether two hosts alone start processes, each in some of the scenarios, and one of them plays what takes much time.
    pub glance: bool,
}

/// Real processes live on the real clock, so a host that differs little from another plays one in so many of their
/// scenarios, each such host other ones.
const PROCESS_TURNS: u64 = 12;

/// The hosts that start real processes in a first look and play what takes much time, taking turns.
const GLANCE_HOSTS: [&str; 2] = ["claude-code@2.1.330", "copilot-cli@1.0.102"];

/// Why a host has no result where it was another's turn and nothing but processes was asked for.
const NOT_ITS_TURN: &str = "not asked for in this run: hosts that differ little from another take turns with processes, and \
                            this one's are other scenarios; --full plays more, --all-hosts or --host this one";

/// Why a host has no result where a first look plays a scenario that takes much time on another.
const ONE_HOST: &str = "a first look plays it on one other host; --full plays it on all, --host on this one";

/// Why no host has a result where a first look leaves a scenario out.
const LEFT_OUT: &str = "a first look leaves out what takes longest; --full plays it";

/// Every cell of a selection, in the order of the report.
pub fn cells(selection: &Selection) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (row, scenario) in (0_u64..).zip(&selection.scenarios) {
        let leader = leader(selection, &scenario.scenario, row);
        for (column, host) in (0..).zip(&selection.hosts) {
            let played = seeds_of(selection, host, column);
            let unplayed = reason_against(&scenario.scenario, host);
            for mode in selection.modes.iter().filter(|mode| scenario.scenario.mode.contains(mode)) {
                // What setup writes differs from host to host, so none stands for another.
                let alike = !host.plays_every_seed() && !scenario.scenario.runs_setup();
                let sampled = selection.sampled && alike;
                let its_turn = u64::is_multiple_of(row + column, PROCESS_TURNS);
                let is_chosen = GLANCE_HOSTS[usize::from(!row.is_multiple_of(2))] == host.id;
                let is_glanced = is_chosen && !scenario.scenario.slow_process;
                let left_out = (selection.glance && !is_glanced) || (sampled && !its_turn);
                let mut unplayed = unplayed.clone();
                if *mode == Mode::Process
                    && !scenario.scenario.agents.is_empty()
                    && !cfg!(target_os = "linux")
                {
                    let reason = "the processes of agents are counted on Linux alone";
                    unplayed.get_or_insert_with(|| Unplayed::not_run(reason));
                }
                if *mode == Mode::Sim
                    && selection.glance
                    && let Some(reason) = spared(&scenario.scenario, host, leader)
                {
                    unplayed.get_or_insert_with(|| Unplayed::not_applicable(reason));
                }
                if *mode == Mode::Process && left_out {
                    if selection.modes.contains(&Mode::Sim) && scenario.scenario.mode.contains(&Mode::Sim) {
                        continue;
                    }
                    unplayed.get_or_insert_with(|| Unplayed::not_applicable(NOT_ITS_TURN));
                }
                let seeded = *mode == Mode::Sim || scenario.scenario.draws();
                let seeds = match (seeded, &unplayed) {
                    (true, None) if scenario.scenario.long => played.start..played.end.min(played.start + 1),
                    (true, None) => played.clone(),
                    (true, Some(_)) => selection.seed..selection.seed + 1,
                    (false, _) => 0..1,
                };
                cells.extend(seeds.map(|seed| Cell {
                    scenario: Arc::clone(scenario),
                    host: Arc::clone(host),
                    mode: *mode,
                    seed,
                    faults: selection.faults,
                    unplayed: unplayed.clone(),
                    mutant: None,
                }));
            }
        }
    }
    cells
}

/// The cells whose number, from 0, is wanted.
pub fn chosen(cells: Vec<Cell>, wanted: impl Fn(usize) -> bool) -> Vec<Cell> {
    cells.into_iter().enumerate().filter(|(number, _)| wanted(*number)).map(|(_, cell)| cell).collect()
}

/// Why a scenario is not played on a host, when it is not.
fn reason_against(scenario: &Scenario, host: &Host) -> Option<Unplayed> {
    let runs = SetUp::options(&scenario.set_up).mode;
    let lacks = || scenario.needs.iter().find_map(|need| needs::lacks(host, *need, runs));
    not_for(&scenario.hosts, host).or_else(|| without_setup(scenario, host)).or_else(lacks)
}

/// The one of the two leading hosts that plays alone in a first look what takes much time: each in turn, where both can.
fn leader<'a>(selection: &'a Selection, scenario: &Scenario, row: u64) -> Option<&'a str> {
    let hosts = selection.hosts.iter().filter(|host| GLANCE_HOSTS.contains(&host.id.as_str()));
    let mut able = hosts.filter(|host| reason_against(scenario, host).is_none());
    let (first, second) = (able.next(), able.next());
    let host = if row.is_multiple_of(2) { first } else { second.or(first) };
    host.map(|host| host.id.as_str())
}

/// Why a first look does without a host, if it does: another one plays the scenario, or none.
fn spared(scenario: &Scenario, host: &Host, leader: Option<&str>) -> Option<&'static str> {
    let takes_much = scenario.long || scenario.first_look == FirstLook::OneHost;
    let other = leader.filter(|leader| takes_much && *leader != host.id);
    match scenario.first_look {
        FirstLook::LeftOut => Some(LEFT_OUT),
        // What neither of the two can play is played by every host that can.
        FirstLook::AllHosts | FirstLook::OneHost => other.map(|_| ONE_HOST),
    }
}

/// The seeds that a host plays.
fn seeds_of(selection: &Selection, host: &Host, column: u64) -> Range<u64> {
    if selection.sampled && !host.plays_every_seed() {
        let one = selection.seed + column % selection.seeds.max(1);
        one..one + 1
    } else {
        selection.seed..selection.seed + selection.seeds
    }
}

/// Why a scenario is not about a host, where it is not.
fn not_for(hosts: &Hosts, host: &Host) -> Option<Unplayed> {
    let reason = match (hosts, &host.profile) {
        (Hosts::All, Some(_)) => return None,
        (Hosts::Named(names), _) if names.iter().any(|name| *name == host.id || *name == host.family) => {
            return None;
        }
        (_, None) => "about a host; a bare pipe is none".to_owned(),
        (Hosts::Named(names), Some(_)) => format!("about {} only", names.join(", ")),
    };
    Some(Unplayed::not_applicable(&reason))
}

/// Why setup can't be run for a host here, when it can't and the scenario does.
fn without_setup(scenario: &Scenario, host: &Host) -> Option<Unplayed> {
    let is_read = SETTINGS_FAMILIES.contains(&host.family.as_str());
    match (scenario.runs_setup(), cfg!(unix), is_read) {
        (true, _, false) => Some(Unplayed::unknown("nothing is known of this host's files".to_owned())),
        (true, false, true) => {
            Some(Unplayed::not_run("setup's commands are run by `sh`, which this system has not"))
        }
        _ => None,
    }
}

/// The selected scenarios in which the chosen faults can't happen, although they draw their steps.
pub fn without_faults(selection: &Selection) -> Vec<&str> {
    let Some(faults) = selection.faults.filter(|faults| faults.troubled > 0) else { return Vec::new() };
    let nothing = |step: &Step| match step {
        Step::Random(random) => faults.weigh(&random.troubles).is_empty(),
        _ => false,
    };
    let scenarios = selection.scenarios.iter();
    let without = scenarios.filter(|one| one.scenario.steps.iter().any(|step| nothing(&step.value)));
    without.map(|one| one.id()).collect()
}

/// The matrix's columns.
pub fn columns(hosts: &[Arc<Host>]) -> Vec<HostColumn> {
    hosts.iter().map(|host| host.column()).collect()
}

/// The known facts about these hosts for the report, without the bare pipe.
pub fn support(hosts: &[Arc<Host>]) -> HostSupport {
    let known: Vec<Arc<Host>> = hosts.iter().filter(|host| host.profile.is_some()).cloned().collect();
    let features = support::table(&known).into_iter().map(|(feature, answers)| Feature {
        name: feature.fact.to_owned(),
        title: feature.title.to_owned(),
        area: feature.area.to_owned(),
        answers: answers
            .into_iter()
            .map(|told| Answer { support: told.answer.support, note: told.answer.note, source: told.source })
            .collect(),
    });
    let features = features.collect();
    HostSupport { hosts: known.iter().map(|host| host.id.clone()).collect(), features }
}

/// The matrix's rows: the scenarios that have a cell.
pub fn rows(scenarios: &[Arc<Loaded>], modes: &[Mode]) -> Vec<ScenarioRow> {
    scenarios
        .iter()
        .filter(|loaded| modes.iter().any(|mode| loaded.scenario.mode.contains(mode)))
        .map(|loaded| {
            let requirement = &loaded.scenario.requirement;
            ScenarioRow {
                id: loaded.id().to_owned(),
                title: loaded.scenario.title.clone(),
                area: requirement.area.clone(),
                level: word(requirement.level),
                says: requirement.says.clone(),
                source: requirement.source.clone(),
                file: loaded.file.clone(),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::load_builtin;

    fn default_run() -> Selection {
        let hosts = hostcheck::host::all().unwrap().iter().filter(|host| host.represented_by().is_none());
        Selection {
            scenarios: load_builtin().unwrap().to_vec(),
            hosts: hosts.cloned().collect(),
            modes: vec![Mode::Sim, Mode::Process],
            seed: 1,
            seeds: 8,
            faults: None,
            sampled: true,
            glance: false,
        }
    }

    #[test]
    fn versions_between_others_take_a_small_part_of_the_default_run() {
        let cells = cells(&default_run());
        let played: Vec<&Cell> = cells.iter().filter(|cell| cell.unplayed.is_none()).collect();
        for mode in [Mode::Sim, Mode::Process] {
            let of_mode = || played.iter().filter(|cell| cell.mode == mode);
            let sampled = of_mode().filter(|cell| !cell.host.plays_every_seed()).count();
            assert!(sampled * 5 < of_mode().count() * 2, "{mode:?}: {sampled} of {}", of_mode().count());
        }
    }

    #[test]
    fn a_run_of_processes_alone_says_whose_turn_it_is_not_and_is_whole() {
        let selection = Selection { modes: vec![Mode::Process], ..default_run() };
        let cells = cells(&selection);
        let process = selection.scenarios.iter().filter(|one| one.scenario.mode.contains(&Mode::Process));
        for scenario in process {
            let of = |host: &Host| {
                cells.iter().any(|cell| cell.scenario.id() == scenario.id() && cell.host.id == host.id)
            };
            assert!(selection.hosts.iter().all(|host| of(host)), "{}", scenario.id());
        }
        let others = cells.iter().filter_map(|cell| cell.unplayed.as_ref());
        let others: Vec<&Unplayed> = others.filter(|unplayed| unplayed.reason == NOT_ITS_TURN).collect();
        assert!(!others.is_empty());
        assert!(others.iter().all(|unplayed| unplayed.status == reports::event::Status::NotApplicable));
    }

    #[test]
    fn a_first_look_starts_few_processes_and_leaves_out_no_row() {
        let all = default_run();
        let glance = Selection { seeds: 1, glance: true, ..default_run() };
        let (whole, few) = (cells(&all), cells(&glance));
        let rows = |cells: &[Cell]| -> std::collections::BTreeSet<(String, String)> {
            cells.iter().map(|cell| (cell.scenario.id().to_owned(), cell.host.id.clone())).collect()
        };
        assert_eq!(rows(&whole), rows(&few));
        let played = few.iter().filter(|cell| cell.mode == Mode::Process && cell.unplayed.is_none());
        let played: Vec<&Cell> = played.collect();
        assert!((20..60).contains(&played.len()), "{}", played.len());
        assert!(played.iter().all(|cell| GLANCE_HOSTS.contains(&cell.host.id.as_str())));
        assert!(played.iter().all(|cell| !cell.scenario.scenario.slow_process));
        let sims = |cells: &[Cell]| -> std::collections::BTreeSet<String> {
            let played = cells.iter().filter(|cell| cell.mode == Mode::Sim && cell.unplayed.is_none());
            played.map(|cell| cell.scenario.id().to_owned()).collect()
        };
        let left_out: Vec<String> = sims(&whole).difference(&sims(&few)).cloned().collect();
        assert_eq!(left_out, ["carriers.parked-year"]);
        let heavy = |scenario: &Scenario| scenario.long || scenario.first_look == FirstLook::OneHost;
        let played = |cell: &&Cell| cell.mode == Mode::Sim && cell.unplayed.is_none();
        let once = few.iter().filter(played).filter(|cell| heavy(&cell.scenario.scenario));
        let once: Vec<&str> = once.map(|cell| cell.scenario.id()).collect();
        assert!(
            once.len() > 30 && once.is_sorted_by(|one, next| one != next),
            "one host plays each: {once:?}"
        );
        let light = |cell: &&Cell| {
            let scenario = &cell.scenario.scenario;
            !heavy(scenario) && scenario.first_look != FirstLook::LeftOut && cell.mode == Mode::Sim
        };
        let unplayed = |cells: &[Cell]| -> Vec<(String, Option<Unplayed>)> {
            let light = cells.iter().filter(light);
            let mut named: Vec<_> = light.map(|cell| (cell.name(), cell.unplayed.clone())).collect();
            named.dedup();
            named
        };
        let one_seed = Selection { seeds: 1, ..default_run() };
        assert_eq!(unplayed(&few), unplayed(&cells(&one_seed)), "every host plays what is light");
        let repeats = crate::run::Repeats::Some;
        let again = few.iter().filter(|cell| cell.mode == Mode::Sim && repeats.has(cell)).count();
        assert!((few.len() / 40..few.len() / 8).contains(&again), "{again} of {}", few.len());
    }

    #[test]
    fn a_profile_that_means_nothing_to_a_scenario_is_told() {
        let source = "id: a.b\ntitle: t\nrequirement: {area: a, level: must, says: s, source: s}\nsteps:\n  \
                      - random: {lasting: 1h, bursts: 2, troubles: [outage]}\n";
        let scenarios = vec![Arc::new(scenario::parse("a.yaml", source).unwrap())];
        let with = |name| {
            let faults = FaultProfile::named(name);
            let selection = Selection { scenarios: scenarios.clone(), faults, ..default_run() };
            without_faults(&selection).len()
        };
        assert_eq!(["disk", "network", "calm"].map(with), [1, 0, 0]);
    }

    #[test]
    fn every_host_of_the_default_run_plays_every_scenario_that_it_supports_in_simulation() {
        let selection = default_run();
        let cells = cells(&selection);
        for scenario in selection.scenarios.iter().filter(|one| one.scenario.mode.contains(&Mode::Sim)) {
            let of = |host: &Host| {
                cells.iter().any(|cell| cell.scenario.id() == scenario.id() && cell.host.id == host.id)
            };
            assert!(selection.hosts.iter().all(|host| of(host)), "{}", scenario.id());
        }
    }
}
