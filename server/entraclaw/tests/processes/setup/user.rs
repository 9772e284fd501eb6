//! A user of `entraclaw setup` with a home folder and a project, and what a setup changes in them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin;
use serde_json::Value;
use tempfile::TempDir;

/// A user with a home folder and a project.
pub(super) struct User {
    _folder: TempDir,
    pub(super) home: PathBuf,
    pub(super) project: PathBuf,
}

impl User {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        let user = Self { home: root.join("home"), project: root.join("project"), _folder: folder };
        for folder in [&user.home, &user.project] {
            fs::create_dir(folder).unwrap();
        }
        user
    }

    /// Runs `entraclaw setup`; returns the exit code, stdout and stderr.
    pub(super) fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let mut command = Command::new(cargo_bin("entraclaw"));
        command.env_clear().env("HOME", &self.home).env("USERPROFILE", &self.home).current_dir(&self.project);
        let output = command.arg("setup").args(arguments).timeout(Duration::from_secs(60)).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let (told, complaint) = (text(output.stdout), text(output.stderr));
        assert!(!complaint.contains("panicked"), "{complaint}");
        (output.status.code().unwrap(), told, complaint)
    }

    pub(super) fn done(&self, arguments: &[&str]) -> String {
        let (code, told, complaint) = self.run(arguments);
        assert_eq!(code, 0, "{arguments:?}: {told}{complaint}");
        told
    }

    pub(super) fn other(&self, command: &str) -> String {
        let mut entraclaw = Command::new(cargo_bin("entraclaw"));
        entraclaw.env_clear().env("HOME", &self.home).current_dir(&self.project).arg(command);
        String::from_utf8(entraclaw.timeout(Duration::from_secs(60)).output().unwrap().stdout).unwrap()
    }

    pub(super) fn refused(&self, arguments: &[&str]) -> String {
        let before = self.tree();
        let (code, told, complaint) = self.run(arguments);
        assert_eq!(code, 1, "{arguments:?}: {told}");
        assert_eq!(self.tree(), before, "{arguments:?}");
        complaint
    }

    pub(super) fn file(&self, path: &str) -> PathBuf {
        path.strip_prefix("project/").map_or_else(|| self.home.join(path), |path| self.project.join(path))
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        let path = self.file(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(super) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.file(path)).unwrap()
    }

    pub(super) fn json(&self, path: &str) -> Value {
        serde_json::from_str(&self.read(path)).unwrap()
    }

    /// Every file and folder with its mode and bytes, except the program's own home folder.
    pub(super) fn tree(&self) -> BTreeMap<PathBuf, (u32, Option<Vec<u8>>)> {
        let mut tree = BTreeMap::new();
        for root in [&self.home, &self.project] {
            walk(root, &mut tree);
        }
        tree.retain(|path, _| !path.starts_with(self.home.join(".entraclaw")));
        tree
    }
}

fn walk(folder: &Path, tree: &mut BTreeMap<PathBuf, (u32, Option<Vec<u8>>)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let found = fs::symlink_metadata(&path).unwrap();
        let bytes = found.is_file().then(|| fs::read(&path).unwrap());
        tree.insert(path.clone(), (mode(&found), bytes));
        if found.is_dir() {
            walk(&path, tree);
        }
    }
}

#[cfg(unix)]
fn mode(found: &fs::Metadata) -> u32 {
    use std::os::unix::fs::MetadataExt as _;
    found.mode() & 0o777
}

#[cfg(not(unix))]
fn mode(_found: &fs::Metadata) -> u32 {
    0
}

/// The flags for the carriers of a host that are off by default.
pub(super) fn with_carriers(host: &str) -> Vec<&'static str> {
    match host {
        "claude-code" => vec!["--with", "channel"],
        "copilot-cli" => vec!["--with", "extension"],
        "codex" => vec!["--with", "queue"],
        "opencode" => vec!["--with", "port=5000"],
        "qwen-code" => vec!["--with", "input-file"],
        _ => vec![],
    }
}
