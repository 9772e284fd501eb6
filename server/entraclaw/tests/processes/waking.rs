//! The hook that wakes Claude Code, as the host runs it: whole processes, a host that can be killed, real files.

#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "a test of whole processes looks at them on the real clock")]

use std::io::Read as _;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use assert_cmd::cargo::cargo_bin;
use entraclaw_seams::storage::{DiskStorage, Lock, Storage as _};
use entraclaw_session::status::{HostLine, SessionFile};

const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Far more looks than any step here needs.
const LOOKS_MAX: usize = 3_000;
const FOLDER: &str = "waking/claude-code";

/// A machine with a home folder and a running session of a host with this version.
struct Fixture {
    folder: tempfile::TempDir,
    storage: DiskStorage,
    _session: Box<dyn Lock>,
}

impl Fixture {
    fn new(version: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let storage = DiskStorage::open(&folder.path().join("home")).unwrap();
        symlink("/bin/sh", folder.path().join("claude")).unwrap();
        storage.create_dir("sessions").unwrap();
        let alive = storage.try_lock("sessions/one.lock").unwrap().unwrap();
        let session = SessionFile {
            v: 1,
            id: "one".to_owned(),
            hosts: vec![HostLine { name: "claude-code".to_owned(), version: version.to_owned() }],
            consumers: vec!["claude-code".to_owned()],
            ..SessionFile::default()
        };
        storage.replace("sessions/one.json", &serde_json::to_vec(&session).unwrap()).unwrap();
        Self { folder, storage, _session: alive }
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// A host that runs the hook in a shell, as Claude Code does. Its stderr ends when the last process ends.
    fn host(&self, entrypoint: &str, more: &str) -> Child {
        let line = format!("{} hook claude-code Stop --wake{more}", cargo_bin("entraclaw").display());
        Command::new(self.folder.path().join("claude"))
            .args(["-c", "sh -c \"$1; exit \\$?\"; exit $?", "claude", &line])
            .env_clear()
            .envs([("PATH", "/usr/bin:/bin"), ("CLAUDE_CODE_ENTRYPOINT", entrypoint)])
            .env("ENTRACLAW_HOME", self.home())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Waits for so many hosts with a waiting hook, and returns their ids.
    fn armed(&self, count: usize) -> Vec<String> {
        until(|| {
            let names = self.storage.list(FOLDER).unwrap();
            let armed: Vec<String> =
                names.iter().filter_map(|name| name.strip_suffix(".armed")).map(str::to_owned).collect();
            (armed.len() == count).then_some(armed)
        })
    }
}

/// Looks until something is found.
fn until<T>(look: impl Fn() -> Option<T>) -> T {
    for _ in 0..LOOKS_MAX {
        if let Some(found) = look() {
            return found;
        }
        thread::sleep(LOOK_EVERY);
    }
    panic!("it never came")
}

/// The exit code, and everything that was written until all processes closed the pipe.
fn ended(mut host: Child) -> (Option<i32>, String) {
    let mut text = String::new();
    host.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    (host.wait().unwrap().code(), text)
}

#[test]
fn the_servers_words_are_on_stderr_and_the_exit_code_wakes() {
    let fixture = Fixture::new("2.1.148");
    let host = fixture.host("cli", "");
    let id = fixture.armed(1).remove(0);
    assert!(id.starts_with(&host.id().to_string()), "{id}");
    fixture.storage.replace(&format!("{FOLDER}/{id}.words"), b"[Entraclaw] come\n> \x1b[1m<b>").unwrap();
    assert_eq!(ended(host), (Some(2), "[Entraclaw] come\n> \u{1b}[1m<b>".to_owned()));
    assert_eq!(fixture.storage.len(&format!("{FOLDER}/{id}.taken")).unwrap(), None);
}

#[test]
fn a_hook_ends_with_its_killed_host() {
    let fixture = Fixture::new("2.1.148");
    let mut host = fixture.host("cli", "");
    fixture.armed(1);
    host.kill().unwrap();
    // The pipe ends with the hook, although no signal told the hook to end.
    assert_eq!(ended(host), (None, String::new()));
    assert_eq!(fixture.storage.list(FOLDER).unwrap(), Vec::<String>::new());
}

#[test]
fn two_hosts_of_one_consumer_have_a_hook_each() {
    let fixture = Fixture::new("2.1.247");
    let hosts = [fixture.host("cli", ""), fixture.host("cli", "")];
    fixture.armed(2);
    for mut host in hosts {
        host.kill().unwrap();
        assert_eq!(ended(host).1, "");
    }
}

#[test]
fn a_hook_exits_at_once_without_a_person_or_where_a_turn_would_wait() {
    for (version, entrypoint) in
        [("2.1.148", "sdk-cli"), ("2.1.148", ""), ("2.0.73", "cli"), ("2.1.68", "cli")]
    {
        let fixture = Fixture::new(version);
        assert_eq!(ended(fixture.host(entrypoint, "")), (Some(0), String::new()), "{version} {entrypoint}");
        assert!(fixture.storage.list(FOLDER).unwrap().is_empty());
    }
}

#[test]
fn mistakes_never_wake_the_model() {
    let fixture = Fixture::new("2.1.148");
    let (code, text) = ended(fixture.host("cli", " --no-such-flag"));
    assert!(code == Some(0) && text.contains("--no-such-flag"), "{text}");
}
