//! Seeds that broke a rule once: a line each in a file that people commit, played before all others.
//! It must never drop a line that it can't read: a seed that is silently not played looks like one that passes.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use hostcheck::host::Host;
use scenario::faults::FaultProfile;
use scenario::{Loaded, Mode};

use crate::plan::{self, Cell, Selection};

/// Those that came with the program, and where they are kept.
const BUILTIN: (&str, &str) = ("scenarios/corpus/seeds.txt", include_str!("../../corpus/seeds.txt"));
/// Begins a file.
pub const HEADER: &str = "\
# Seeds that broke a rule once, found by `simulation run`, which plays them before all others. Keep this file with your
# scenarios; lines may be taken out when what they name is gone.
# scenario host seed fault-profile rule
";
/// In place of the name of a profile: as the scenario says.
const NO_PROFILE: &str = "-";
/// Lines of a file.
const ENTRIES_MAX: usize = 10_000;

/// One seed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// The scenario's id.
    pub scenario: String,
    /// The host's id.
    pub host: String,
    /// The seed.
    pub seed: u64,
    /// The fault profile, where one was chosen.
    pub faults: Option<String>,
    /// The rule that it broke.
    pub rule: String,
}

/// A seed and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// `seeds.txt:4`.
    pub place: String,
    /// The seed.
    pub entry: Entry,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scenario, host, seed, faults, rule } = self;
        write!(f, "{scenario} {host} {seed} {} {rule}", faults.as_deref().unwrap_or(NO_PROFILE))
    }
}

impl Entry {
    /// The entry of a cell that broke a rule.
    pub fn of(cell: &Cell, rule: &str) -> Self {
        Self {
            scenario: cell.scenario.id().to_owned(),
            host: cell.host.id.clone(),
            seed: cell.seed,
            faults: cell.fault_profile().map(str::to_owned),
            // A rule is a name; whatever else it is stays one word of a line.
            rule: rule.split_whitespace().collect::<Vec<_>>().join("-"),
        }
    }

    /// Whether both play the same.
    pub fn plays(&self, other: &Self) -> bool {
        (&self.scenario, &self.host, self.seed, &self.faults)
            == (&other.scenario, &other.host, other.seed, &other.faults)
    }
}

/// The seeds that came with the program.
///
/// # Errors
/// As [`read`].
pub fn builtin() -> anyhow::Result<Vec<Line>> {
    read(BUILTIN.0, BUILTIN.1)
}

/// The seeds in a file's text; `file` is its name in messages.
///
/// # Errors
/// When a line is none, or there are too many.
pub fn read(file: &str, text: &str) -> anyhow::Result<Vec<Line>> {
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let place = format!("{file}:{number}");
        let entry = entry(line).ok_or_else(|| {
            anyhow::anyhow!(
                "{place}: not `scenario host seed fault-profile rule`, like `days.random claude-code@seed 17 - oracle.lost`; mend the line or take it out"
            )
        })?;
        lines.push(Line { place, entry });
        anyhow::ensure!(lines.len() <= ENTRIES_MAX, "{file}: more than {ENTRIES_MAX} seeds; take some out");
    }
    Ok(lines)
}

fn entry(line: &str) -> Option<Entry> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [scenario, host, seed, faults, rule] = words[..] else { return None };
    Some(Entry {
        scenario: scenario.to_owned(),
        host: host.to_owned(),
        seed: seed.parse().ok()?,
        faults: (faults != NO_PROFILE).then(|| faults.to_owned()),
        rule: rule.to_owned(),
    })
}

/// The entries of a corpus that belong to a selection.
#[derive(Debug, Default)]
pub struct Played {
    /// The cells, in the order of the corpus, each once.
    pub cells: Vec<Cell>,
    /// The entries that can't be played, each with the reason.
    pub stale: Vec<String>,
}

/// The cells of the seeds whose scenario and host are selected. `known` are scenarios that exist, `hosts` all hosts.
pub fn cells(lines: &[Line], selection: &Selection, known: &BTreeSet<String>, hosts: &[Arc<Host>]) -> Played {
    let mut played = Played::default();
    let mut seen: BTreeSet<(&str, &str, u64, Option<&str>)> = BTreeSet::new();
    for Line { place, entry } in lines {
        let Entry { scenario, host, seed, faults, rule } = entry;
        let mut stale = |what: String| {
            played.stale.push(format!(
                "{place}: {what}; its seed {seed} ({rule}) is not played, take the line out if that is right"
            ));
        };
        let selected = selection.scenarios.iter().find(|loaded| loaded.id() == scenario);
        if selected.is_none() && !known.contains(scenario) {
            stale(format!("no scenario is named `{scenario}` here"));
            continue;
        }
        if !hosts.iter().any(|one| one.id == *host) {
            stale(format!("no host is named `{host}`"));
            continue;
        }
        let profile = faults.as_deref().map(FaultProfile::named);
        if profile == Some(None) {
            stale(format!("no fault profile is named `{}`", faults.as_deref().unwrap_or_default()));
            continue;
        }
        let there = selection.hosts.iter().find(|one| one.id == *host);
        let (Some(loaded), Some(there)) = (selected, there) else { continue };
        if !selection.modes.contains(&Mode::Sim) || !seen.insert((scenario, host, *seed, faults.as_deref())) {
            continue;
        }
        let one = one(loaded, there, *seed, profile.flatten());
        match one {
            Some(cell) if cell.unplayed.is_none() => played.cells.push(cell),
            Some(cell) => {
                let why = cell.unplayed.map(|unplayed| unplayed.reason).unwrap_or_default();
                stale(format!("`{scenario}` can't be played on {host} ({why})"));
            }
            None => stale(format!("`{scenario}` is not simulated")),
        }
    }
    played
}

fn one(
    scenario: &Arc<Loaded>,
    host: &Arc<Host>,
    seed: u64,
    faults: Option<&'static FaultProfile>,
) -> Option<Cell> {
    plan::cells(&Selection {
        scenarios: vec![Arc::clone(scenario)],
        hosts: vec![Arc::clone(host)],
        modes: vec![Mode::Sim],
        seed,
        seeds: 1,
        faults,
        sampled: false,
        glance: false,
    })
    .pop()
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::load_builtin;

    fn everything() -> Selection {
        Selection {
            scenarios: load_builtin().unwrap().to_vec(),
            hosts: hostcheck::host::all().unwrap().to_vec(),
            modes: vec![Mode::Sim],
            seed: 1,
            seeds: 1,
            faults: None,
            sampled: false,
            glance: false,
        }
    }

    fn played(text: &str) -> Played {
        let selection = everything();
        let known = selection.scenarios.iter().map(|loaded| loaded.id().to_owned()).collect();
        cells(&read("seeds.txt", text).unwrap(), &selection, &known, hostcheck::host::all().unwrap())
    }

    #[test]
    fn the_built_in_corpus_has_no_stale_line() {
        assert!(BUILTIN.1.starts_with(HEADER));
        let played = played(BUILTIN.1);
        assert_eq!(played.stale, [""; 0]);
        assert_eq!(played.cells.len(), builtin().unwrap().len(), "no seed twice");
    }

    #[test]
    fn a_seed_is_played_as_it_was_and_once() {
        let text = "\n# said\ndays.random claude-code@seed 17 stormy oracle.lost\r\n\
                    days.random claude-code@seed 17 stormy expect.model\ndays.random claude-code@seed 17 - expect.model";
        let played = played(text);
        assert_eq!(played.stale, [""; 0]);
        let replays: Vec<String> = played.cells.iter().map(Cell::replay).collect();
        let replay =
            "cargo run --release -- run days.random --host claude-code@seed --mode sim --seed 17 --seeds 1";
        assert_eq!(replays, [format!("{replay} --fault-profile stormy"), replay.to_owned()]);
        let again = Entry::of(&played.cells[0], "oracle.lost");
        assert_eq!(again.to_string(), "days.random claude-code@seed 17 stormy oracle.lost");
        assert!(again.plays(&read("", text).unwrap()[1].entry));
    }

    #[test]
    fn a_stale_line_is_named_with_its_place() {
        let text = "days.gone claude-code@seed 1 - r\ndays.random nobody@1 2 - r\n\
                    days.random claude-code@seed 3 windy r\ndays.random copilot-cli@seed 4 - r";
        let played = played(text);
        assert!(played.cells.is_empty());
        let words = [
            "seeds.txt:1: no scenario is named `days.gone`",
            "seeds.txt:2: no host is named `nobody@1`",
            "seeds.txt:3: no fault profile is named `windy`",
            "seeds.txt:4: `days.random` can't be played on copilot-cli@seed",
        ];
        for (stale, words) in played.stale.iter().zip(words) {
            assert!(stale.starts_with(words), "{stale}");
        }
        assert_eq!(played.stale.len(), 4);
    }

    #[test]
    fn a_line_that_is_none_is_told() {
        for text in ["days.random claude-code@seed", "a b c - r", "a b 1 - r more"] {
            let said = read("seeds.txt", &format!("# said\n{text}")).unwrap_err().to_string();
            assert!(said.starts_with("seeds.txt:2: not `scenario host seed"), "{said}");
        }
    }
}
