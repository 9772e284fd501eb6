//! Plans and makes the changes of a setup, with the receipts of earlier ones in the home folder.
//!
//! It must never lose the way back: backup and receipt are on the disk before a file is replaced.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::super::place::unusable;
use super::folders::FOLDER;
use super::{disk, folders};
use crate::setup::{self, Carrier, FileRecipe, Found, Host, Outcome, Receipt, Request, adds, digest, recipe};
use entraclaw_inbox::tool::ToolSet;
use entraclaw_seams::storage::{DiskStorage, Lock, Storage as _, read_whole};

/// Most receipts that are read.
const RECEIPTS_MAX: usize = 1_000;
/// Largest receipt that is read; it may contain the text of a file without a value.
pub(super) const RECEIPT_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// How long to wait for another setup, in milliseconds.
const LOCK_WAIT_MS: u64 = 5_000;
/// Most names for a backup that are tried.
const BACKUPS_MAX: usize = 9;
const BACKUP: &str = "entraclaw-backup";
/// Characters of a file's digest in the name of its receipt.
const NAME_CHARS: usize = 16;

/// The parts of one run.
pub(super) struct Work<'r> {
    pub(super) request: &'r Request,
    /// The home folder; `None` if it is only looked at and missing.
    pub(super) home: Option<DiskStorage>,
}

/// The change of one file.
pub(super) struct Step {
    pub(super) path: PathBuf,
    /// The real folder, if a symlink leads there.
    pub(super) leads_to: Option<PathBuf>,
    pub(super) before: Option<String>,
    pub(super) outcome: Outcome,
    receipt: Option<Receipt>,
}

impl Step {
    pub(super) fn changes_text(&self) -> bool {
        self.before != self.outcome.text
    }

    /// Whether an earlier setup added a set of tools, and it is gone after this step.
    pub(super) fn drops(&self, set: ToolSet) -> bool {
        let adds = |text: Option<&str>| text.is_some_and(|text| adds(text, set));
        adds(self.before.as_deref()) && !adds(self.outcome.text.as_deref())
    }
}

impl Work<'_> {
    /// Takes the lock that keeps other setups out until it is dropped.
    pub(super) fn lock(&self) -> Result<Option<Box<dyn Lock>>, String> {
        let Some(home) = &self.home else { return Ok(None) };
        match home.lock("setup.lock", LOCK_WAIT_MS) {
            Ok(Some(lock)) => Ok(Some(lock)),
            Ok(None) => Err("another setup is at work; wait until it has ended".to_owned()),
            Err(error) => Err(unusable(&error)),
        }
    }

    /// The steps to take, or all obstacles.
    pub(super) fn steps(&self, remove: bool) -> Result<Vec<Step>, Vec<String>> {
        let receipts = self.receipts().map_err(|problem| vec![problem])?;
        let mut files = recipe(self.request).files;
        let mut gone = Vec::new();
        if remove {
            gone.append(&mut files);
        }
        // An earlier setup may have written more carriers, and the skill.
        let mut every = Request { carriers: every_carrier(self.request.host), ..self.request.clone() };
        every.added.insert(ToolSet::Context);
        for file in recipe(&every).files {
            let is_asked_for = files.iter().chain(&gone).any(|known| known.paths == file.paths);
            if !is_asked_for {
                gone.push(file);
            }
        }
        let mut steps = Vec::new();
        let mut problems: Vec<String> =
            self.home.as_ref().map(|home| home.folder_troubles(&[FOLDER])).unwrap_or_default();
        for (file, remove) in
            files.iter().map(|file| (file, false)).chain(gone.iter().map(|file| (file, true)))
        {
            for path in self.places_of(file, remove, &receipts) {
                match self.step(&path, file, remove, &receipts) {
                    Ok(step) => steps.extend(step),
                    Err(problem) => problems.push(format!("{}: {problem}", path.display())),
                }
            }
        }
        if problems.is_empty() { Ok(steps) } else { Err(problems) }
    }

    /// The place where a file is written, or for a removal every place where it may have been written.
    fn places_of(
        &self,
        file: &FileRecipe,
        remove: bool,
        receipts: &BTreeMap<PathBuf, Receipt>,
    ) -> Vec<PathBuf> {
        if remove {
            return file.paths.clone();
        }
        let owner = self.request.owner();
        let is_ours =
            |path: &&PathBuf| receipts.get(*path).is_some_and(|kept| kept.owners.contains_key(&owner));
        let there = file.paths.iter().find(is_ours).or_else(|| file.paths.iter().find(|path| path.exists()));
        there.or(file.paths.first()).cloned().into_iter().collect()
    }

    fn step(
        &self,
        path: &Path,
        file: &FileRecipe,
        remove: bool,
        receipts: &BTreeMap<PathBuf, Receipt>,
    ) -> Result<Option<Step>, String> {
        let receipt = receipts.get(path);
        let before = match disk::read(path) {
            Ok(before) => before,
            Err(problem) => return self.linked(path, file, remove).then_some(None).ok_or(problem),
        };
        let backup = receipt.and_then(|receipt| receipt.backup.as_ref());
        let backup = backup.map(|backup| disk::read(Path::new(backup))).transpose()?.flatten();
        let found = Found { text: before.as_deref(), receipt, backup: backup.as_deref() };
        let outcome = self.outcome(path, found, file, remove).map_err(|problem| problem.to_string())?;
        let is_known = receipt.is_none() || outcome.receipt.as_ref() == receipt;
        if outcome.text == before && is_known {
            return Ok(None);
        }
        let leads_to = disk::check_folder(path, &self.request.roots())?;
        disk::check_file(path)?;
        Ok(Some(Step { path: path.to_owned(), leads_to, before, outcome, receipt: receipt.cloned() }))
    }

    /// Whether the file behind a symlink already has the content, added by hand.
    fn linked(&self, path: &Path, file: &FileRecipe, remove: bool) -> bool {
        let Some(text) = disk::read_through_link(path) else { return false };
        let found = Found { text: Some(&text), ..Found::default() };
        let outcome = self.outcome(path, found, file, remove);
        outcome.is_ok_and(|outcome| outcome.text.as_deref() == Some(text.as_str()))
    }

    /// The file with our content, or for a removal without it. Without a receipt, the content of any choice of flags is
    /// removed.
    fn outcome(
        &self,
        path: &Path,
        found: Found<'_>,
        file: &FileRecipe,
        remove: bool,
    ) -> Result<Outcome, setup::Problem> {
        let (name, owner) = (&path.display().to_string(), self.request.owner());
        if !remove {
            return setup::with(name, found, &owner, &file.content);
        }
        let outcome = setup::without(name, found, &owner, &file.content)?;
        if found.receipt.is_some() {
            return Ok(outcome);
        }
        let other = Request { allow_answers: !self.request.allow_answers, ..self.request.clone() };
        match recipe(&other).files.into_iter().find(|other| other.paths == file.paths) {
            Some(other) => {
                let found = Found { text: outcome.text.as_deref(), ..found };
                setup::without(name, found, &owner, &other.content)
            }
            None => Ok(outcome),
        }
    }

    /// Takes one step: backup, receipt, file. Files that are not needed any more are removed last.
    pub(super) fn perform(&self, step: &Step) -> Result<(), String> {
        let at = |error: std::io::Error| format!("{}: {error}", step.path.display());
        let old_backup = step.receipt.as_ref().and_then(|receipt| receipt.backup.clone());
        if let (Some(mut receipt), Some(home)) = (step.outcome.receipt.clone(), &self.home) {
            folders::make(home, &step.path)?;
            receipt.backup = match &step.outcome.without {
                Some(without) => {
                    let backup =
                        old_backup.clone().map_or_else(|| free_backup(&step.path), |name| Ok(name.into()))?;
                    disk::keep(&backup, without, &step.path)?;
                    Some(backup.display().to_string())
                }
                None => None,
            };
            let document = serde_json::to_vec_pretty(&receipt).map_err(|error| error.to_string())?;
            home.create_dir(FOLDER)
                .and_then(|()| home.replace(&receipt_name(&step.path), &document))
                .map_err(at)?;
            disk::replace(&step.path, step.before.as_deref(), step.outcome.text.as_deref())?;
            if let Some(stale) = old_backup.filter(|_| receipt.backup.is_none()) {
                disk::remove(Path::new(&stale))?;
            }
            return Ok(());
        }
        disk::replace(&step.path, step.before.as_deref(), step.outcome.text.as_deref())?;
        if let Some(backup) = old_backup {
            disk::remove(Path::new(&backup))?;
        }
        if let Some(home) = &self.home {
            home.remove(&receipt_name(&step.path)).map_err(at)?;
        }
        Ok(())
    }

    fn receipts(&self) -> Result<BTreeMap<PathBuf, Receipt>, String> {
        let Some(home) = &self.home else { return Ok(BTreeMap::new()) };
        let mut receipts = BTreeMap::new();
        let names = home.list(FOLDER).map_err(|error| error.to_string())?;
        for name in names.iter().filter(|name| is_receipt(name)).take(RECEIPTS_MAX) {
            let path = format!("{FOLDER}/{name}");
            let broken = |what: String| {
                format!(
                    "{path} in the home folder can't be read: {what}; remove it, and setup finds what it wrote by its form"
                )
            };
            let bytes =
                read_whole(home, &path, RECEIPT_BYTES_MAX).map_err(|error| broken(error.to_string()))?;
            let Some(bytes) = bytes else { continue };
            let receipt: Receipt =
                serde_json::from_slice(&bytes).map_err(|error| broken(error.to_string()))?;
            receipts.insert(PathBuf::from(&receipt.path), receipt);
        }
        Ok(receipts)
    }
}

/// Whether a name in the folder is that of a receipt.
pub(super) fn is_receipt(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|ending| ending == "json")
}

fn every_carrier(host: Host) -> Vec<Carrier> {
    let all =
        [Carrier::Channel, Carrier::Extension, Carrier::Queue, Carrier::Port(1024), Carrier::InputFile(None)];
    all.into_iter().filter(|carrier| carrier.host() == host).collect()
}

fn receipt_name(path: &Path) -> String {
    let digest = digest(&path.display().to_string());
    format!("{FOLDER}/{}.json", digest.get(..NAME_CHARS).unwrap_or(&digest))
}

/// An unused name for a backup beside the file.
fn free_backup(path: &Path) -> Result<PathBuf, String> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let numbered = |number: usize| match number {
        1 => path.with_file_name(format!("{name}.{BACKUP}")),
        _ => path.with_file_name(format!("{name}.{BACKUP}-{number}")),
    };
    (1..=BACKUPS_MAX).map(numbered).find(|backup| backup.symlink_metadata().is_err()).ok_or_else(|| {
        format!("{}: there are {BACKUPS_MAX} backups beside it; remove the old ones", path.display())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_only_replaces_a_receipt_changes_no_text() {
        let step = |before: Option<&str>, after: Option<&str>| Step {
            path: PathBuf::from("/home/alice/.codex/config.toml"),
            leads_to: None,
            before: before.map(str::to_owned),
            outcome: Outcome { text: after.map(str::to_owned), without: None, receipt: None },
            receipt: None,
        };
        assert!(!step(Some("a"), Some("a")).changes_text());
        assert!(step(Some("a"), Some("b")).changes_text() && step(Some("a"), None).changes_text());
    }
}
