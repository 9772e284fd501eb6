//! Which models a program lists: it is asked once for each program that is installed, and the home folder remembers.
//!
//! It must never ask one program twice, nor keep a question waiting for longer than a bound.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use entraclaw_seams::processes::Ending;
use entraclaw_seams::programs::{Programs, Start};
use entraclaw_seams::storage::{Storage, read_whole};
use entraclaw_work::{Running, attend};
use futures_util::FutureExt as _;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::agent::Agent;

/// The file with what is known.
const FILE: &str = "agents/models.json";
/// The lock of who asks.
const LOCK: &str = "agents/models.lock";
const FILE_BYTES_MAX: u64 = 256 * 1024;
/// Most programs that are remembered; the oldest are forgotten.
const PROGRAMS_MAX: usize = 32;
/// How long a program may take for its list. On a busy machine more than 10 s were seen, of usually 1 to 3 s.
const LIST_TIME: Duration = Duration::from_secs(20);
/// How long a question may wait for the list in all.
const WAIT: Duration = Duration::from_secs(25);
/// Most bytes of a list that are read. The longest that was seen has 17 kB.
const LIST_BYTES_MAX: usize = 256 * 1024;
/// The pause between two looks at what another question asks.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A model that is asked for only if the program lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IfListed {
    /// The model.
    pub model: String,
    /// What tells this program from each that was installed before it.
    pub program: String,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Known {
    v: u32,
    programs: Vec<Listed>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Listed {
    #[serde(flatten)]
    asked: IfListed,
    /// Nothing if the program could not be asked.
    listed: Option<bool>,
}

/// Asks programs for their models.
pub(crate) struct Models<'a> {
    pub(crate) storage: &'a dyn Storage,
    pub(crate) programs: &'a Arc<dyn Programs>,
    pub(crate) running: &'a Running,
}

impl Models<'_> {
    /// Whether the program lists the model. What is not known counts as no, so that its own default answers.
    pub(crate) async fn lists(
        &self,
        row: &Agent,
        asked: &IfListed,
        program: &str,
        folder: PathBuf,
        environment: Vec<(String, String)>,
    ) -> bool {
        let Some(words) = row.default_model.map(|default| default.list) else { return false };
        let asking = async {
            loop {
                if let Some(known) = self.known(asked)? {
                    return Ok(known.listed.unwrap_or(false));
                }
                if let Some(_lock) = self.storage.try_lock(LOCK)? {
                    // Another question may have written it before it let the lock go.
                    if let Some(known) = self.known(asked)? {
                        return Ok(known.listed.unwrap_or(false));
                    }
                    // Written before it is asked: what hangs or crashes is not tried again by each question.
                    self.remember(asked, None)?;
                    let arguments = words.iter().map(|word| (*word).to_owned());
                    let argv = std::iter::once(program.to_owned()).chain(arguments).collect();
                    let listed =
                        self.ask(Start { argv, folder, environment, has_input: false }, &asked.model).await;
                    // A cancelled question says nothing about the program.
                    let is_stopped = self.running.stopped().now_or_never().is_some();
                    if is_stopped && listed.is_none() {
                        self.forget(asked)?;
                    } else if listed.is_some() {
                        self.remember(asked, listed)?;
                    }
                    return Ok(listed.unwrap_or(false));
                }
                sleep(LOOK_EVERY).await;
            }
        };
        let outcome: Result<io::Result<bool>, _> = timeout(WAIT, asking).await;
        outcome.unwrap_or(Ok(false)).unwrap_or_else(|error| {
            self.running.event("models unknown", json!({"error": error.to_string()}));
            false
        })
    }

    async fn ask(&self, start: Start, model: &str) -> Option<bool> {
        self.running.event("step", json!({"says": "asks its program for its models"}));
        let child = self.programs.start(&start).ok()?;
        let leader = child.leader.clone();
        let mut list = Vec::new();
        let attended = attend(child, None, self.running, |bytes| {
            let room = LIST_BYTES_MAX.saturating_sub(list.len());
            list.extend_from_slice(&bytes[..room.min(bytes.len())]);
        });
        let attended = timeout(LIST_TIME, attended).await;
        if attended.is_err()
            && let Some(leader) = leader
        {
            let _ = self.running.processes.end_group(&leader, Ending::Kill);
        }
        let exit = attended.ok()?.ok()?.exit?.ok()?;
        exit.is_success().then(|| names(&list, model))
    }

    fn known(&self, asked: &IfListed) -> io::Result<Option<Listed>> {
        known(self.storage, asked)
    }

    fn remember(&self, asked: &IfListed, listed: Option<bool>) -> io::Result<()> {
        let mut known = read(self.storage)?;
        known.v = 1;
        known.programs.retain(|one| one.asked != *asked);
        known.programs.push(Listed { asked: asked.clone(), listed });
        let beyond = known.programs.len().saturating_sub(PROGRAMS_MAX);
        known.programs.drain(..beyond);
        self.storage.replace_derived(FILE, &serde_json::to_vec(&known)?)
    }

    fn forget(&self, asked: &IfListed) -> io::Result<()> {
        let mut known = read(self.storage)?;
        known.programs.retain(|one| one.asked != *asked);
        self.storage.replace_derived(FILE, &serde_json::to_vec(&known)?)
    }
}

/// Whether a program that was asked before lists the model.
pub(crate) fn was_listed(storage: &dyn Storage, asked: &IfListed) -> bool {
    matches!(known(storage, asked), Ok(Some(Listed { listed: Some(true), .. })))
}

/// What is known of a program.
fn known(storage: &dyn Storage, asked: &IfListed) -> io::Result<Option<Listed>> {
    Ok(read(storage)?.programs.into_iter().find(|one| one.asked == *asked))
}

fn read(storage: &dyn Storage) -> io::Result<Known> {
    let bytes = read_whole(storage, FILE, FILE_BYTES_MAX)?;
    // A file that can't be understood is made anew.
    Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default())
}

/// Whether a list has the model: each name stands in quotes on a line of its own. Some versions list their models below
/// another setting, so any line counts.
fn names(list: &[u8], model: &str) -> bool {
    let wanted = format!("- \"{model}\"");
    String::from_utf8_lossy(list).lines().any(|line| line.trim() == wanted)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "the recordings are files")]

    use entraclaw_seams::storage::MemoryStorage;
    use rstest::rstest;

    use super::*;

    #[test]
    fn what_a_program_listed_is_known_and_not_of_another_program() {
        let asked = |program: &str| IfListed { model: "gpt-4.1".to_owned(), program: program.to_owned() };
        let known = Known { v: 1, programs: vec![Listed { asked: asked("1.0.24"), listed: Some(true) }] };
        let storage = MemoryStorage::new();
        storage.create_dir("agents").unwrap();
        storage.replace_derived(FILE, &serde_json::to_vec(&known).unwrap()).unwrap();
        assert!(was_listed(&storage, &asked("1.0.24")));
        assert!(!was_listed(&storage, &asked("1.0.60")));
    }

    #[rstest]
    #[case("0.0.354", false)]
    #[case("0.0.384", true)]
    #[case("0.0.401", true)]
    #[case("0.0.420", true)]
    #[case("1.0.0", true)]
    #[case("1.0.24", true)]
    #[case("1.0.60", false)]
    #[case("1.0.102", false)]
    fn the_recorded_lists_are_read(#[case] version: &str, #[case] listed: bool) {
        let recordings = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fakes/agents/recordings");
        let recording = std::fs::read(format!("{recordings}/copilot-{version}/help-config.json")).unwrap();
        let recording: serde_json::Value = serde_json::from_slice(&recording).unwrap();
        let lines: Vec<&str> =
            recording["stdout"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
        assert_eq!(names(lines.join("\n").as_bytes(), "gpt-4.1"), listed);
    }

    #[test]
    fn a_longer_name_is_another_model() {
        assert!(!names(b"    - \"gpt-4.1-mini\"\n", "gpt-4.1"));
        assert!(!names(b"set it to gpt-4.1\n", "gpt-4.1"));
        assert!(names(b"    - \"gpt-4.1\"\r\n", "gpt-4.1"));
    }
}
