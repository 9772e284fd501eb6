//! Known failures, check by check, and the comparison of a run with them. A known failure must not fail the
//! run. A new one must, and so must a known one that does not fail, so that the list stays true.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::CellFinished;
use crate::stream::Stream;
use crate::text::short_line;

/// Version of the file.
pub const BASELINE_VERSION: u32 = 1;
/// Longest part of an input's name that an error repeats, in bytes.
const NAME_BYTES_MAX: usize = 80;

/// `baseline.json`: the expected failures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// [`BASELINE_VERSION`].
    pub v: u32,
    /// One entry for each check, sorted.
    pub expected: Vec<Expected>,
}

/// One check that is expected to fail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// As [`Check::scenario`].
    pub scenario: String,
    /// As [`Check::host`].
    pub host: String,
    /// As [`Check::mode`].
    pub mode: String,
    /// As [`Check::rule`].
    pub rule: String,
    /// The reason, or where the failure is being worked on; kept when the file is updated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// One check: a rule of a requirement on a host in a mode, over all seeds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// The requirement.
    pub scenario: String,
    /// The column.
    pub host: String,
    /// `sim` or `process`.
    pub mode: String,
    /// The rule or expectation; the state if a run broke without naming one.
    pub rule: String,
}

/// A run compared with a baseline.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Gate {
    /// Checks that fail as expected.
    pub known: Vec<Expected>,
    /// Checks that fail and are not expected to.
    pub new: Vec<Check>,
    /// Checks that are expected to fail and don't: take them out of the file.
    pub stale: Vec<Expected>,
    /// Checks that are expected to fail, and about which this run can't say anything.
    pub not_judged: Vec<Expected>,
}

/// Why a file is no baseline.
#[derive(Debug, thiserror::Error)]
pub enum InvalidBaseline {
    /// Not JSON of this shape.
    #[error("not a baseline: {0}")]
    Json(String),
    /// It has another version.
    #[error(
        "`v` is {0}, this reader knows {BASELINE_VERSION}; write it anew with `hostcheck baseline update`"
    )]
    Version(u32),
    /// It has a check twice.
    #[error("`{0}` is there twice; remove one of them")]
    Twice(String),
}

impl Check {
    /// `delivery.dm × claude-code@2.1.330 (sim): expect.model`.
    pub fn name(&self) -> String {
        format!("{} × {} ({}): {}", self.scenario, self.host, self.mode, self.rule)
    }
}

impl Expected {
    /// The check of the entry.
    pub fn check(&self) -> Check {
        let Self { scenario, host, mode, rule, why: _ } = self.clone();
        Check { scenario, host, mode, rule }
    }
}

impl Baseline {
    /// Reads the file.
    pub fn read(text: &str) -> Result<Self, InvalidBaseline> {
        let found: Self = serde_json::from_str(text)
            .map_err(|error| InvalidBaseline::Json(short_line(&error.to_string(), 4 * NAME_BYTES_MAX)))?;
        if found.v != BASELINE_VERSION {
            return Err(InvalidBaseline::Version(found.v));
        }
        let mut seen = BTreeSet::new();
        for entry in &found.expected {
            let check = entry.check();
            let name = short_line(&check.name(), 4 * NAME_BYTES_MAX);
            if !seen.insert(check) {
                return Err(InvalidBaseline::Twice(name));
            }
        }
        Ok(found)
    }

    /// The file: one entry a line, so that its changes are easy to read.
    pub fn write(&self) -> Result<String, serde_json::Error> {
        let entries = self.expected.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
        let entries =
            if entries.is_empty() { String::new() } else { format!("\n  {}\n", entries.join(",\n  ")) };
        Ok(format!("{{\"v\":{},\"expected\":[{entries}]}}\n", self.v))
    }

    /// The failures of a run as the new list. The reasons of entries that stay are kept, and so are entries
    /// that the run could not judge.
    #[must_use]
    pub fn update(&self, stream: &Stream) -> Self {
        let gate = self.judge(stream);
        let new = gate.new.into_iter().map(|check| {
            let Check { scenario, host, mode, rule } = check;
            Expected { scenario, host, mode, rule, why: None }
        });
        let mut expected: Vec<_> = gate.known.into_iter().chain(gate.not_judged).chain(new).collect();
        expected.sort_by_key(Expected::check);
        Self { v: BASELINE_VERSION, expected }
    }

    /// Compares a run with the list.
    pub fn judge(&self, stream: &Stream) -> Gate {
        let found = found(stream);
        let mut gate = Gate::default();
        let mut expected = BTreeSet::new();
        for entry in &self.expected {
            let Expected { scenario, host, mode, rule, .. } = entry;
            expected.insert(entry.check());
            let list = match found.get(&(scenario.as_str(), host.as_str(), mode.as_str())) {
                Some(cell) if cell.rules.contains(rule.as_str()) => &mut gate.known,
                Some(cell) if cell.judged => &mut gate.stale,
                _ => &mut gate.not_judged,
            };
            list.push(entry.clone());
        }
        for ((scenario, host, mode), cell) in &found {
            let check = |rule: &&str| Check {
                scenario: (*scenario).to_owned(),
                host: (*host).to_owned(),
                mode: (*mode).to_owned(),
                rule: (*rule).to_owned(),
            };
            gate.new.extend(cell.rules.iter().map(check).filter(|check| !expected.contains(check)));
        }
        gate
    }
}

impl Default for Baseline {
    fn default() -> Self {
        Self { v: BASELINE_VERSION, expected: Vec::new() }
    }
}

impl Gate {
    /// Joins the gates of two runs of different parts; an entry that one of them judged is judged.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.not_judged.retain(|entry| other.not_judged.contains(entry));
        self.known.extend(other.known);
        self.new.extend(other.new);
        self.stale.extend(other.stale);
        self
    }

    /// Whether the run passes.
    pub fn is_open(&self) -> bool {
        self.new.is_empty() && self.stale.is_empty()
    }

    /// Whether a check fails as expected.
    pub fn knows(&self, scenario: &str, host: &str, mode: &str, rule: &str) -> bool {
        self.known.iter().any(|known| {
            (known.rule.as_str(), known.scenario.as_str(), known.host.as_str(), known.mode.as_str())
                == (rule, scenario, host, mode)
        })
    }

    /// Whether a cell has an unexpected failure in a mode.
    pub fn has_new(&self, scenario: &str, host: &str, mode: &str) -> bool {
        let place = (scenario, host, mode);
        self.new.iter().any(|new| (new.scenario.as_str(), new.host.as_str(), new.mode.as_str()) == place)
    }

    /// The stale rules of a cell in a mode, joined with commas; empty if there are none.
    pub fn stale_rules(&self, scenario: &str, host: &str, mode: &str) -> String {
        let stale = self.stale.iter().filter(|entry| {
            (entry.scenario.as_str(), entry.host.as_str(), entry.mode.as_str()) == (scenario, host, mode)
        });
        stale.map(|entry| entry.rule.as_str()).collect::<Vec<_>>().join(", ")
    }
}

/// The rules that failed in a cell, and whether it was judged.
#[derive(Default)]
struct Found<'a> {
    rules: BTreeSet<&'a str>,
    judged: bool,
}

fn found(stream: &Stream) -> BTreeMap<(&str, &str, &str), Found<'_>> {
    let mut found: BTreeMap<_, Found<'_>> = BTreeMap::new();
    for cell in &stream.cells {
        let entry =
            found.entry((cell.scenario.as_str(), cell.host.as_str(), cell.mode.as_str())).or_default();
        // A run that broke or was never played says nothing about its checks.
        entry.judged |= cell.status.was_judged();
        entry.rules.extend(rules(cell));
    }
    found
}

/// The rules that failed in a run, by [`Check::rule`].
fn rules(cell: &CellFinished) -> impl Iterator<Item = &str> {
    let unnamed = (cell.status.is_defect() && cell.failures.is_empty()).then(|| cell.status.word());
    let named = cell.failures.iter().filter(|_| cell.status.is_defect()).map(|failure| failure.rule.as_str());
    named.chain(unnamed)
}
