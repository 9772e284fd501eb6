//! Keeps seeds of `simulation run` that broke a rule: a line in a corpus, and the smallest scenario that breaks it too.
//! It must never write anywhere but below the folder for reports, unless a file was named.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use hostcheck::print::{out, shown, warn};
use reports::event::CellFinished;
use scenario::load_builtin;

use crate::corpus::{self, Entry, HEADER, Line};
use crate::plan::{Cell, Selection};
use crate::run::NOT_REPEATABLE;
use crate::shrink::{self, PLAYS_MAX};

/// The corpus of a folder for reports.
const FILE: &str = "corpus.txt";
/// Where small scenarios are written, below the folder for reports.
const FOLDER: &str = "minimised";
/// Seeds of one scenario, host and rule that a run keeps.
const KEPT_MAX: usize = 8;
/// Seeds that a run makes small: the first of each scenario and rule.
const SMALLEST_MAX: usize = 4;

/// The seeds that are played first, and where new ones go.
pub(super) struct Corpus {
    lines: Vec<Line>,
    /// The file to which new entries are appended.
    file: PathBuf,
    /// The entries of that file.
    there: Vec<Line>,
    is_named: bool,
    folder: PathBuf,
}

/// A cell that broke a rule.
pub(super) struct Broken {
    cell: Cell,
    rule: String,
    message: String,
}

impl Corpus {
    /// The corpus that was named, or the one in the folder for reports. A part of a run must play the same cells on
    /// every machine, so it plays what came with the program or was named alone.
    pub(super) fn open(named: Option<&Path>, out: &Path, is_part: bool) -> anyhow::Result<Self> {
        let file = named.map_or_else(|| out.join(FILE), Path::to_owned);
        let there = read(&file)?;
        let mut lines = corpus::builtin()?;
        if named.is_some() || !is_part {
            lines.extend(there.iter().cloned());
        }
        Ok(Self { lines, file, there, is_named: named.is_some(), folder: out.join(FOLDER) })
    }

    /// Puts the seeds whose scenario and host are selected before all other cells.
    pub(super) fn put_first(&self, selection: &Selection, cells: &mut Vec<Cell>) -> anyhow::Result<()> {
        if self.lines.is_empty() {
            return Ok(());
        }
        let known: BTreeSet<String> = load_builtin()?.iter().map(|loaded| loaded.id().to_owned()).collect();
        let played = corpus::cells(&self.lines, selection, &known, hostcheck::host::all()?);
        for stale in &played.stale {
            warn(&shown(stale));
        }
        let key = |cell: &Cell| {
            let Cell { scenario, host, mode, seed, .. } = cell;
            (scenario.id().to_owned(), host.id.clone(), *mode, *seed, cell.fault_profile())
        };
        let first: BTreeSet<_> = played.cells.iter().map(key).collect();
        cells.retain(|cell| !first.contains(&key(cell)));
        cells.splice(0..0, played.cells);
        Ok(())
    }

    /// Appends what is new and makes some of it small; says both.
    pub(super) fn keep(&self, broken: &[Broken]) -> anyhow::Result<()> {
        let new = self.unknown(broken);
        if !new.is_empty() {
            self.append(&new)?;
            let more = if self.is_named { "" } else { "; to keep them for good, name a file with --corpus" };
            out(&format!(
                "kept in {}, to be played first from now on: {} of the seeds that broke a rule{more}",
                self.file.display(),
                new.len(),
            ));
        }
        let mut seen = BTreeSet::new();
        // What differs from play to play can't be made small by playing.
        let repeats = broken.iter().filter(|broken| broken.rule != NOT_REPEATABLE);
        let drawn = repeats.filter(|broken| broken.cell.scenario.scenario.draws());
        let firsts = drawn.filter(|broken| seen.insert((broken.cell.scenario.id(), broken.rule.as_str())));
        for broken in firsts.take(SMALLEST_MAX) {
            self.make_small(broken)?;
        }
        Ok(())
    }

    /// The entries that are in no corpus yet.
    fn unknown(&self, broken: &[Broken]) -> Vec<Entry> {
        let mut counts: BTreeMap<(String, String, String), usize> = BTreeMap::new();
        let entries = broken.iter().map(|broken| Entry::of(&broken.cell, &broken.rule));
        let known = |entry: &Entry| self.lines.iter().chain(&self.there).any(|line| line.entry.plays(entry));
        let new = entries.filter(|entry| {
            let count = counts.entry((entry.scenario.clone(), entry.host.clone(), entry.rule.clone()));
            let count = count.or_default();
            *count += 1;
            *count <= KEPT_MAX && !known(entry)
        });
        new.collect()
    }

    fn append(&self, new: &[Entry]) -> anyhow::Result<()> {
        let mut text = String::new();
        match read_text(&self.file)? {
            None => text.push_str(HEADER),
            Some(there) if !there.is_empty() && !there.ends_with('\n') => text.push('\n'),
            Some(_) => {}
        }
        text.extend(new.iter().map(|entry| format!("{entry}\n")));
        let written = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(&self.file)
            .and_then(|mut file| file.write_all(text.as_bytes()));
        written.with_context(|| format!("cannot write {}; name another with --corpus", self.file.display()))
    }

    fn make_small(&self, broken: &Broken) -> anyhow::Result<()> {
        let Broken { cell, rule, message } = broken;
        let file = self.folder.join(format!("{}.yaml", shrink::id(cell)));
        let breaks = format!("{} breaks {rule}", cell.name());
        if file.exists() {
            out(&format!("{breaks}; made small before:"));
        } else {
            let small = match shrink::smallest(cell, rule, message, PLAYS_MAX) {
                Ok(small) => small,
                Err(error) => {
                    warn(&format!("{breaks}, and could not be made smaller: {error:#}"));
                    return Ok(());
                }
            };
            write(&file, &small.yaml)?;
            let (steps, drawn, plays) = (small.steps, small.drawn, small.plays);
            out(&format!("{breaks}, and so do {steps} of its {drawn} drawn steps ({plays} plays):"));
        }
        out(&format!("  {}", shrink::replay(cell, &file.to_string_lossy())));
        Ok(())
    }
}

/// The simulated cells that broke a rule, with the rule; `results` in the order of `cells`.
pub(super) fn broken(cells: &[Cell], results: &[CellFinished]) -> Vec<Broken> {
    let pairs = cells.iter().zip(results);
    let broken = pairs.filter_map(|(cell, finished)| {
        let rule = shrink::broken_rule(finished)?.to_owned();
        let message = finished.reason.clone().unwrap_or_default();
        Some(Broken { cell: cell.clone(), rule, message })
    });
    broken.collect()
}

fn read(file: &Path) -> anyhow::Result<Vec<Line>> {
    let text = read_text(file)?.unwrap_or_default();
    corpus::read(&file.display().to_string(), &text)
}

#[expect(clippy::disallowed_methods, reason = "the command line's edge reads the files it is told of")]
fn read_text(file: &Path) -> anyhow::Result<Option<String>> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", file.display())),
    }
}

#[expect(clippy::disallowed_methods, reason = "the command line's edge writes the output folder")]
fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(file, text))
        .with_context(|| format!("cannot write {}", file.display()))
}
