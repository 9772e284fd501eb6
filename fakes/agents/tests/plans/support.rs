//! Plays a plan at once, without a process: what it wrote, how it ended, how long it would have taken.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fake_agents::{Act, Invocation, Outside, PathKind, Script, Signal, interrupted, plan};
use serde_json::Value;

/// A machine in memory: a store, and the paths that do not exist or are files.
#[derive(Default)]
pub(crate) struct Machine {
    /// The store.
    pub(crate) store: RefCell<BTreeMap<String, String>>,
    /// Paths that do not exist.
    pub(crate) missing: Vec<PathBuf>,
    /// Paths that are files.
    pub(crate) files: Vec<PathBuf>,
}

impl Outside for Machine {
    fn kind(&self, path: &Path) -> PathKind {
        if self.missing.iter().any(|one| one == path) {
            PathKind::Missing
        } else if self.files.iter().any(|one| one == path) {
            PathKind::File
        } else {
            PathKind::Folder
        }
    }

    fn stored(&self, path: &str) -> Option<String> {
        self.store.borrow().get(path).cloned()
    }

    fn list(&self, folder: &str) -> Vec<String> {
        let files = self.store.borrow();
        let below = files.keys().filter_map(|path| path.strip_prefix(folder)?.strip_prefix('/'));
        let mut found: Vec<_> =
            below.map(|rest| rest.split('/').next().unwrap_or_default().to_owned()).collect();
        found.dedup();
        found
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// With this code.
    Exit(u8),
    /// By this signal.
    Died(Signal),
    /// Not at all.
    Hangs,
    /// It speaks ACP from there.
    SpeaksAcp,
}

/// What a run did.
#[derive(Debug)]
pub(crate) struct Ran {
    /// Its end.
    pub(crate) end: End,
    /// Its output.
    pub(crate) stdout: String,
    /// What it told.
    pub(crate) stderr: String,
    /// The files that it wrote.
    pub(crate) wrote: Vec<PathBuf>,
    /// How long it would have taken.
    pub(crate) took_ms: u64,
}

impl Ran {
    /// The exit code; 255 for any other end.
    pub(crate) fn code(&self) -> u8 {
        if let End::Exit(code) = self.end { code } else { 255 }
    }

    /// The lines of JSON output.
    pub(crate) fn lines(&self) -> Vec<Value> {
        self.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// The kinds of the lines of JSON output.
    pub(crate) fn kinds(&self) -> Vec<String> {
        self.lines().iter().map(|line| line["type"].as_str().unwrap_or("?").to_owned()).collect()
    }
}

/// One start of a fake.
pub(crate) struct Start<'machine> {
    /// The script.
    pub(crate) script: Script,
    /// How it is started.
    pub(crate) invocation: Invocation,
    /// What comes on stdin.
    pub(crate) stdin: String,
    /// The machine.
    pub(crate) machine: &'machine Machine,
}

impl<'machine> Start<'machine> {
    /// With a script and a command line.
    pub(crate) fn new(script: &str, argv: &[&str], machine: &'machine Machine) -> Self {
        let script = Script::parse("test.yaml", script).unwrap();
        let invocation = Invocation {
            argv: argv.iter().map(|&one| one.to_owned()).collect(),
            folder: "/project".into(),
            started_unix_ms: 1_795_639_455_000,
            ..Invocation::default()
        };
        Self { script, invocation, stdin: String::new(), machine }
    }

    /// With a variable.
    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.invocation.environment.insert(name.to_owned(), value.to_owned());
        self
    }

    /// With something on stdin.
    #[must_use]
    pub(crate) fn reading(mut self, stdin: &str) -> Self {
        stdin.clone_into(&mut self.stdin);
        self
    }

    /// Plays it to its end.
    pub(crate) fn run(self) -> Ran {
        self.play(None)
    }

    /// Plays it up to its first hang or pause and sends a signal then.
    pub(crate) fn interrupted_by(self, signal: Signal) -> Ran {
        self.play(Some(signal))
    }

    fn play(mut self, signal: Option<Signal>) -> Ran {
        let mut acts = plan(&self.script, &self.invocation, self.machine);
        if matches!(acts.last(), Some(Act::ReadInput { .. })) {
            self.invocation.stdin = Some(self.stdin.as_bytes().to_owned());
            let before = acts.len() - 1;
            let again = plan(&self.script, &self.invocation, self.machine);
            let told = acts[..before].iter().filter(|act| !again.contains(act)).cloned();
            acts = told.chain(again.iter().cloned()).collect();
        }
        if let Some(signal) = signal {
            let at = acts.iter().position(|act| matches!(act, Act::Wait { .. } | Act::Hang));
            acts.truncate(at.expect("a pause"));
            let after = interrupted(&self.script, &self.invocation, &acts, signal);
            acts.extend(after.unwrap_or(vec![Act::Hang]));
        }
        self.finish(acts)
    }

    fn finish(&self, acts: Vec<Act>) -> Ran {
        let mut ran = Ran {
            end: End::Hangs,
            stdout: String::new(),
            stderr: String::new(),
            wrote: Vec::new(),
            took_ms: 0,
        };
        for act in acts {
            match act {
                Act::Wait { ms } => ran.took_ms += ms,
                Act::Out(bytes) => ran.stdout.push_str(&String::from_utf8_lossy(&bytes)),
                Act::Err(bytes) => ran.stderr.push_str(&String::from_utf8_lossy(&bytes)),
                Act::Write { path, .. } => ran.wrote.push(path),
                Act::Store { path, text } => {
                    self.machine.store.borrow_mut().entry(path).or_default().push_str(&text);
                }
                Act::Exit(code) => ran.end = End::Exit(code),
                Act::Die(signal) => ran.end = End::Died(signal),
                Act::SpeakAcp => ran.end = End::SpeaksAcp,
                Act::Hang | Act::ReadInput { .. } | Act::Child { .. } | Act::Enter(_) => {}
            }
        }
        ran
    }
}
