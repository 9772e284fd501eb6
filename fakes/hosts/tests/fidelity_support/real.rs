//! Every recording of a real host, compared with the profile of its version or of the nearest one below. A
//! recording that can't be compared is named with the reason; none is left out without a note.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fake_hosts::{Profile, profile, profiles};
use libtest_mimic::{Failed, Trial};

use crate::deviation::{self, Deviation};
use crate::situation::{self, Situation};
use crate::{recording, replay, report};

/// The recordings of a version.
pub(crate) struct Version {
    /// The folder's name.
    pub(crate) name: String,
    /// The profile that stands for the version.
    pub(crate) base: Arc<Profile>,
    /// Known facts of the version that differ from the profile.
    pub(crate) known: Option<&'static Deviation>,
    /// The outcome of each recording, by name.
    pub(crate) outcomes: BTreeMap<String, Outcome>,
}

/// The outcome of one recording.
pub(crate) enum Outcome {
    /// The fake sends what the real host sent.
    Equal,
    /// It does, except for written deviations with their reasons.
    Explained(String),
    /// It can't be played.
    NotPlayed(&'static str),
    /// It does not, for an unknown reason; or a written deviation does not occur.
    Wrong(String),
}

/// One trial for each recording and each version, and one for the report.
pub(crate) fn trials(traces: &Path) -> Vec<Trial> {
    let mut trials = Vec::new();
    let versions = match versions(traces) {
        Ok(versions) => versions,
        Err(problem) => return vec![Trial::test("recordings", move || Err(Failed::from(problem)))],
    };
    for version in &versions {
        for (name, outcome) in &version.outcomes {
            let told = match outcome {
                Outcome::Explained(why) => format!("{}/{name}: differs, explained: {why}", version.name),
                Outcome::NotPlayed(why) => format!("{}/{name}: not compared: {why}", version.name),
                Outcome::Equal | Outcome::Wrong(_) => format!("{}/{name}", version.name),
            };
            let problem = match outcome {
                Outcome::Wrong(problem) => Some(problem.clone()),
                _ => None,
            };
            trials.push(Trial::test(told, move || {
                problem.map_or(Ok(()), |problem| Err(Failed::from(problem)))
            }));
        }
    }
    for (folder, name) in deviation::names() {
        let version = versions.iter().find(|version| version.name == folder);
        let found = version.is_some_and(|one| name.is_none_or(|name| one.outcomes.contains_key(name)));
        let told = name.unwrap_or("all");
        trials.push(Trial::test(format!("{folder}/{told}: what is explained was recorded"), move || {
            found.then_some(()).ok_or_else(|| Failed::from("there is no such recording"))
        }));
    }
    trials.extend(report::trials(&versions));
    trials
}

fn versions(traces: &Path) -> Result<Vec<Version>, String> {
    let mut names: Vec<String> = std::fs::read_dir(traces)
        .map_err(|error| format!("{}: {error}", traces.display()))?
        .flatten()
        .filter(|entry| entry.path().is_dir())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort_by_key(|name| {
        let (family, version) = split(name);
        (family, numbers(version))
    });
    names.into_iter().map(|name| version(traces, name)).collect()
}

fn version(traces: &Path, name: String) -> Result<Version, String> {
    let (family, number) = split(&name);
    let known = deviation::of_version(&name);
    let base = match known.and_then(|known| known.base) {
        Some(id) => profile(id).map_err(|error| error.to_string())?,
        None => nearest(&family, number)?,
    };
    let mut outcomes = BTreeMap::new();
    let mut needed = known.is_none();
    for recording in recording::names(&traces.join(&name)).unwrap_or_default() {
        let path = traces.join(&name).join(format!("{recording}.jsonl"));
        let situation = situation::of(&name, &recording);
        let own = deviation::of_recording(&name, &recording);
        let case = Case { version: &name, number, base: &base, known, situation, path };
        needed |= matches!(Case { known: None, ..case.clone() }.outcome(own)?, Outcome::Wrong(_));
        outcomes.insert(recording, case.outcome(own)?);
    }
    if let Some(known) = known.filter(|_| !needed) {
        let stale = format!("is equal without what is known of the version: {}", known.reason);
        for outcome in outcomes.values_mut() {
            *outcome = Outcome::Wrong(stale.clone());
        }
    }
    Ok(Version { name, base, known, outcomes })
}

/// One recording, and what it is compared with.
#[derive(Clone)]
struct Case<'a> {
    version: &'a str,
    number: &'a str,
    base: &'a Arc<Profile>,
    known: Option<&'static Deviation>,
    situation: Situation,
    path: PathBuf,
}

impl Case<'_> {
    fn outcome(&self, own: Option<&'static Deviation>) -> Result<Outcome, String> {
        if let Some(reason) = self.situation.skipped {
            return Ok(Outcome::NotPlayed(reason));
        }
        let recording = recording::read(&self.path)?;
        let compared = |own: Option<&'static Deviation>| {
            let known: Vec<&'static Deviation> = self.known.into_iter().chain(own).collect();
            let profile = deviation::laid_over(self.version, self.number, self.base, &known)?;
            let explained: Vec<&'static str> =
                known.iter().flat_map(|known| known.differences).copied().collect();
            let tolerance = replay::Tolerance::of(&profile);
            replay::compare_but_for(&profile, &self.situation, &recording, tolerance, &explained)
        };
        let with = compared(own);
        let Some(own) = own else {
            return Ok(with.map_or_else(Outcome::Wrong, |_| Outcome::Equal));
        };
        Ok(match with {
            Err(problem) => Outcome::Wrong(problem),
            Ok(met) if met.len() < own.differences.len() => {
                Outcome::Wrong(format!("an explanation explains nothing: {}", own.reason))
            }
            Ok(_) if compared(None).is_ok() => {
                Outcome::Wrong(format!("is equal without its explanation: {}", own.reason))
            }
            Ok(_) => Outcome::Explained(own.reason.to_owned()),
        })
    }
}

/// Family and version of a folder of recordings.
fn split(name: &str) -> (String, &str) {
    let (host, version) = name.rsplit_once('-').unwrap_or((name, ""));
    let family = match host {
        "gemini" => "gemini-cli",
        "qwen" => "qwen-code",
        other => other,
    };
    (family.to_owned(), version)
}

fn numbers(version: &str) -> Vec<u64> {
    version.split('.').map(|number| number.parse().unwrap_or(0)).collect()
}

/// The profile of this version, or of the nearest one below; the oldest if there is none below.
fn nearest(family: &str, version: &str) -> Result<Arc<Profile>, String> {
    let mut known: Vec<(Vec<u64>, String)> = profiles()
        .map_err(|error| error.to_string())?
        .iter()
        .filter_map(|profile| profile.id.strip_prefix(family)?.strip_prefix('@'))
        .filter(|version| version.starts_with(|one: char| one.is_ascii_digit()))
        .map(|version| (numbers(version), format!("{family}@{version}")))
        .collect();
    known.sort();
    let at = known.partition_point(|(one, _)| *one <= numbers(version));
    let (_, id) = known.get(at.saturating_sub(1)).ok_or_else(|| format!("no profile of {family}"))?;
    profile(id).map_err(|error| error.to_string())
}
