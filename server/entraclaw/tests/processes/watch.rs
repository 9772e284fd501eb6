//! `entraclaw watch` as a person runs it: a real process beside a journal that this test writes.

#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "tests make real files and read pipes in threads")]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use assert_cmd::cargo::cargo_bin;
use entraclaw_inbox::journal::{ConsumerName, Journal, JournalOptions, Look};
use entraclaw_inbox::record::{Channel, Draft};
use entraclaw_seams::clock::SystemClock;
use entraclaw_seams::storage::{DiskStorage, Storage};
use entraclaw_session::status::SessionFile;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rstest::rstest;
use tempfile::TempDir;

/// Longer than any step here takes; only a fault waits so long.
const PATIENCE: Duration = Duration::from_secs(60);

struct Fixture {
    _folder: TempDir,
    home: PathBuf,
    disk: DiskStorage,
    journal: Journal,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        let disk = DiskStorage::open(&home).unwrap();
        let options = JournalOptions::default();
        let (journal, _) = Journal::open(Arc::new(disk.clone()), Arc::new(SystemClock), options).unwrap();
        Self { _folder: folder, home, disk, journal }
    }

    fn write(&self, channel: Channel, id: &str, text: &str) {
        let draft = Draft {
            key: format!("{}/{id}", channel.as_str()),
            id: id.to_owned(),
            channel,
            chat_id: "19:a@thread.v2".to_owned(),
            from: "Alice \u{1b}]0;owned\u{7}".to_owned(),
            ts: "2026-11-21T10:00:00Z".to_owned(),
            content_text_sanitized: text.to_owned(),
            meta: BTreeMap::new(),
            edit_of: None,
            deleted: false,
        };
        assert_eq!(self.journal.append(vec![draft]).unwrap().new.len(), 1);
    }

    /// Starts to watch, and returns when the terminal reads.
    fn watch(&self, arguments: &[&str]) -> Terminal {
        let mut terminal = Terminal::open(&self.home, arguments, &[]);
        terminal.heard("watching ");
        terminal
    }

    /// Waits until everything that was printed is acknowledged too.
    fn settled(&self) {
        let storage: Arc<dyn Storage> = Arc::new(self.disk.clone());
        let watcher = ConsumerName::new("watch-cli").unwrap();
        for _ in 0..600 {
            if Look::at(&storage).unwrap().unread(&watcher).unwrap() == 0 {
                return;
            }
            thread::sleep(PATIENCE / 600);
        }
        panic!("it was not acknowledged");
    }
}

/// A watching process with its output.
struct Terminal {
    child: Child,
    stdout: Receiver<String>,
    stderr: Receiver<String>,
}

impl Terminal {
    fn open(home: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = Command::new(cargo_bin("entraclaw"));
        command.arg("watch").args(arguments).env_clear().env("ENTRACLAW_HOME", home).env("TZ", "UTC");
        command.envs(environment.iter().copied());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdout = lines(child.stdout.take().unwrap());
        let stderr = lines(child.stderr.take().unwrap());
        Self { child, stdout, stderr }
    }

    fn line(&mut self) -> String {
        self.stdout.recv_timeout(PATIENCE).expect("a line on stdout")
    }

    /// Reads stderr up to these words.
    fn heard(&mut self, words: &str) -> String {
        loop {
            let line = self.stderr.recv_timeout(PATIENCE).expect("a note on stderr");
            if line.contains(words) {
                return line;
            }
        }
    }

    /// The exit code, and the rest of both streams.
    fn ended(mut self) -> (i32, Vec<String>, Vec<String>) {
        let (stdout, stderr) = (self.stdout.iter().collect(), self.stderr.iter().collect());
        (self.child.wait().unwrap().code().unwrap_or(-1), stdout, stderr)
    }

    fn signal(self, signal: Signal) -> (i32, Vec<String>, Vec<String>) {
        kill(Pid::from_raw(i32::try_from(self.child.id()).unwrap()), signal).unwrap();
        self.ended()
    }
}

fn lines(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for line in BufReader::new(stream).lines() {
            if line.is_err() || line.is_ok_and(|line| sender.send(line).is_err()) {
                break;
            }
        }
    });
    receiver
}

fn runs(home: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(cargo_bin("entraclaw"));
    command.args(arguments).env_clear().env("ENTRACLAW_HOME", home).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn messages_appear_and_after_a_restart_only_the_new_ones() {
    let fixture = Fixture::new();
    fixture.write(Channel::Teams, "1", "from before");
    let mut terminal = fixture.watch(&[]);
    terminal.heard("no session is running, so nothing is polled; start a host");
    fixture.write(Channel::Teams, "2", "1 &lt; 2\u{1b}[2J\nmore");
    assert_eq!(terminal.line(), "21 Nov 10:00 teams Alice: 1 < 2 (+1 line)");
    fixture.settled();
    let (code, printed, _) = terminal.signal(Signal::SIGINT);
    assert_eq!((code, printed), (0, vec![]));

    fixture.write(Channel::Email, "3", "Subject: meanwhile");
    let mut terminal = fixture.watch(&[]);
    terminal.heard("1 message came meanwhile");
    assert_eq!(terminal.line(), "21 Nov 10:00 email Alice: Subject: meanwhile");
    fixture.write(Channel::Bot, "4", "now");
    assert_eq!(terminal.line(), "21 Nov 10:00 bot   Alice: now");
    fixture.settled();
    let (code, printed, _) = terminal.signal(Signal::SIGTERM);
    assert_eq!((code, printed), (0, vec![]));
}

#[test]
fn quiet_shows_only_messages_of_the_wanted_channels() {
    let fixture = Fixture::new();
    drop(fixture.journal.mailbox(&ConsumerName::new("watch-fixture").unwrap(), "before").unwrap());
    fixture.write(Channel::Teams, "1", "no");
    fixture.write(Channel::Bot, "2", "third");
    fixture.write(Channel::Email, "3", "fourth");
    let arguments = ["--quiet", "--email", "--bot", "--consumer", "watch-fixture"];
    let mut terminal = Terminal::open(&fixture.home, &arguments, &[]);
    assert!(terminal.line().ends_with("third") && terminal.line().ends_with("fourth"));
    let (code, printed, notes) = terminal.signal(Signal::SIGINT);
    assert_eq!((code, printed, notes), (0, vec![], vec![]));
}

#[test]
fn it_ends_quietly_when_the_reader_is_gone_even_without_a_message() {
    let fixture = Fixture::new();
    let mut command = Command::new(cargo_bin("entraclaw"));
    command.args(["watch", "--quiet"]).env_clear().env("ENTRACLAW_HOME", &fixture.home);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), ended.stderr), (Some(0), vec![]));
}

#[test]
fn it_reports_when_a_session_begins_and_stops_polling() {
    let fixture = Fixture::new();
    let mut terminal = fixture.watch(&[]);
    terminal.heard("no session is running");
    fixture.disk.create_dir("sessions").unwrap();
    let alive = fixture.disk.try_lock("sessions/one.lock").unwrap().unwrap();
    let file = SessionFile {
        v: 1,
        id: "one".to_owned(),
        pid: 40,
        leads: true,
        may_lead: true,
        ..SessionFile::default()
    };
    fixture.disk.replace_derived("sessions/one.json", &serde_json::to_vec(&file).unwrap()).unwrap();
    terminal.heard("process 40 polls now");
    drop(alive);
    terminal.heard("no session is running");
    assert_eq!(terminal.signal(Signal::SIGHUP).0, 0);
}

#[rstest]
#[case::pipe(&[], false)]
#[case::forced(&[("CLICOLOR_FORCE", "1")], true)]
#[case::refused(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false)]
fn colours_follow_the_environment(#[case] environment: &[(&str, &str)], #[case] coloured: bool) {
    let fixture = Fixture::new();
    let mut terminal = Terminal::open(&fixture.home, &[], environment);
    terminal.heard("watching ");
    fixture.write(Channel::Teams, "1", "x\u{1b}[31my");
    let line = terminal.line();
    assert_eq!(line.contains('\u{1b}'), coloured, "{line:?}");
    let plain = anstream::adapter::strip_str(&line).to_string();
    assert_eq!(plain, "21 Nov 10:00 teams Alice: xy");
    assert_eq!(terminal.signal(Signal::SIGINT).0, 0);
}

#[test]
fn an_agents_consumer_is_refused() {
    let fixture = Fixture::new();
    let ended = runs(&fixture.home, &["watch", "--consumer", "claude-code"]);
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(2));
    assert!(said.contains("claude-code is an agent's"), "{said}");
}

#[test]
fn an_unusable_home_is_reported_as_by_inbox() {
    let fixture = Fixture::new();
    let link = fixture.home.with_file_name("link");
    std::os::unix::fs::symlink(&fixture.home, &link).unwrap();
    let (watch, inbox) = (runs(&link, &["watch"]), runs(&link, &["inbox"]));
    assert_eq!((watch.status.code(), &watch.stderr), (Some(1), &inbox.stderr));
    assert!(watch.stdout.is_empty() && String::from_utf8_lossy(&watch.stderr).contains("is a symlink"));
    assert_eq!(inbox.status.code(), Some(1));
}

#[test]
fn the_inbox_of_an_agent_is_shown_before_that_of_a_terminal() {
    let fixture = Fixture::new();
    drop(fixture.journal.mailbox(&ConsumerName::new("reviewer").unwrap(), "s").unwrap());
    let terminal = fixture.watch(&[]);
    fixture.write(Channel::Teams, "1", "for the agent");
    fixture.settled();
    assert_eq!(terminal.signal(Signal::SIGINT).0, 0);
    let shown = String::from_utf8(runs(&fixture.home, &["inbox"]).stdout).unwrap();
    assert!(shown.starts_with("1 unread message for reviewer"), "{shown}");
}
