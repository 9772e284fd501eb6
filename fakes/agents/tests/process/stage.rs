//! A folder with the fake under a CLI's name, and its script beside it.
#![expect(clippy::disallowed_methods, reason = "a test moves real files and processes")]

use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

/// How long a test waits for what should come at once.
const SOON_MS: u64 = 10_000;
/// The pause between two looks.
const LOOK_MS: u64 = 5;

/// The folder; it is deleted at the end.
pub(crate) struct Stage {
    folder: tempfile::TempDir,
    name: &'static str,
}

impl Stage {
    /// With this script.
    pub(crate) fn new(name: &'static str, script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join(name);
        // A copy could be busy: another test's new process may still hold it open for writing.
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_fake-agent"), program).unwrap();
        std::fs::write(folder.path().join(format!("{name}.yaml")), script).unwrap();
        Self { folder, name }
    }

    /// A copilot.
    pub(crate) fn copilot(answers: &str) -> Self {
        Self::new("copilot", &format!("agent: copilot\nmodels: [gpt-5.4]\n{answers}"))
    }

    /// A path in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A file in the folder.
    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// The program with these arguments.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.path(self.name));
        command.args(arguments).current_dir(self.folder.path()).stdin(Stdio::null());
        for name in ["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "COPILOT_HOME", "COPILOT_MODEL"] {
            command.env_remove(name);
        }
        command
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Starts it with piped output.
    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// What is in the journal.
    pub(crate) fn journal(&self) -> Vec<Value> {
        let text = self.read(&format!("{}.log", self.name));
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The events of one kind in the journal.
    pub(crate) fn events(&self, event: &str) -> Vec<Value> {
        self.journal().into_iter().filter(|line| line["event"] == event).collect()
    }
}

/// Waits until something holds.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..SOON_MS / LOOK_MS {
        if holds() {
            return;
        }
        pause();
    }
    panic!("{what} did not come");
}

fn pause() {
    std::thread::sleep(Duration::from_millis(LOOK_MS));
}

/// The texts of a run.
pub(crate) fn texts(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// The lines of JSON output.
pub(crate) fn lines(output: &Output) -> Vec<Value> {
    String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
