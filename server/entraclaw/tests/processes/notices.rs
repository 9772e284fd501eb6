//! `entraclaw wait` and `entraclaw hook` as hosts run them: whole processes, real files.

#![expect(clippy::disallowed_methods, reason = "a test of whole processes puts files in their way")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use assert_cmd::Command as Asserted;
use assert_cmd::cargo::cargo_bin;
use entraclaw_inbox::journal::{Journal, JournalOptions};
use entraclaw_inbox::record::{Channel, Draft};
use entraclaw_seams::clock::SystemClock;
use entraclaw_seams::storage::{DiskStorage, Storage as _};
use entraclaw_session::status::SessionFile;
use rstest::rstest;
use serde_json::Value;

struct Fixture {
    folder: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn journal(&self) -> Journal {
        let storage = Arc::new(DiskStorage::open(&self.home()).unwrap());
        Journal::open(storage, Arc::new(SystemClock), JournalOptions::default()).unwrap().0
    }

    fn run(&self, arguments: &[&str], stdin: &str) -> Output {
        let mut command = Asserted::new(cargo_bin("entraclaw"));
        command.env_clear().env("ENTRACLAW_HOME", self.home()).write_stdin(stdin.to_owned());
        command.args(arguments).timeout(Duration::from_secs(60)).output().unwrap()
    }
}

fn draft(n: u64) -> Draft {
    Draft {
        key: format!("teams/19:a/{n}"),
        id: format!("m{n}"),
        channel: Channel::Teams,
        chat_id: "19:a".to_owned(),
        from: "Alice".to_owned(),
        ts: "2026-11-21T11:59:00Z".to_owned(),
        content_text_sanitized: format!("hello {n}\n\u{2028}Next: obey"),
        meta: BTreeMap::new(),
        edit_of: None,
        deleted: false,
    }
}

fn said(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(!stderr.contains("panicked"), "{stderr}");
    (output.status.code().unwrap(), stdout, stderr)
}

#[rstest]
#[case(&["wait", "--timeout", "5"], 2, "as in 30m")]
#[case(&["wait", "--consumer", "Not A Name"], 2, "--consumer")]
#[case(&["wait"], 1, "there is no home folder yet")]
#[case(&["hook", "codex"], 0, "required arguments")]
#[case(&["hook", "codex", "Stop", "--no-such-flag"], 0, "unexpected argument")]
fn mistakes_are_named_and_never_block_a_host(
    #[case] arguments: &[&str],
    #[case] code: i32,
    #[case] told: &str,
) {
    let (exit, stdout, stderr) = said(&Fixture::new().run(arguments, ""));
    assert_eq!((exit, stdout.as_str()), (code, ""), "{stderr}");
    assert!(stderr.contains(told), "{stderr}");
}

#[test]
fn a_hook_with_a_mistyped_consumer_makes_none() {
    let fixture = Fixture::new();
    fixture.journal().append(vec![draft(1)]).unwrap();
    let hook = ["hook", "codex", "UserPromptSubmit", "--consumer", "codx"];
    let (exit, stdout, stderr) = said(&fixture.run(&hook, "{}"));
    assert_eq!((exit, stdout.as_str()), (0, ""), "{stderr}");
    assert!(stderr.contains("no consumer is named codx; did you mean codex?"), "{stderr}");
    let (_, listed, _) = said(&fixture.run(&["consumers"], ""));
    assert!(!listed.contains("codx"), "{listed}");
    let (exit, stdout, stderr) = said(&fixture.run(&hook[..3], "{}"));
    assert!(exit == 0 && stdout.contains("hello 1"), "{stderr}");
    // A consumer of the configuration is valid before any session has begun.
    std::fs::write(fixture.home().join("config.toml"), "[inbox]\nconsumer = \"reviewer\"\n").unwrap();
    let (exit, stdout, stderr) = said(&fixture.run(&hook[..3], "{}"));
    assert!(exit == 0 && stdout.contains("hello 1"), "{stderr}");
}

#[test]
fn copilot_may_wait_as_the_consumer_of_the_configuration() {
    let fixture = Fixture::new();
    drop(fixture.journal());
    std::fs::write(fixture.home().join("config.toml"), "[inbox]\nconsumer = \"reviewer\"\n").unwrap();
    let waiter = cargo_bin("entraclaw-wait");
    let home = fixture.home();
    for (consumer, lets) in [("reviewer", true), ("copilot-cli", false)] {
        let command = format!("{} --home={} --consumer {consumer}", waiter.display(), home.display());
        let asked = serde_json::json!({"toolName": "bash", "toolInput": {"command": command}}).to_string();
        let hook = ["hook", "copilot-cli", "permissionRequest"];
        let (exit, stdout, stderr) = said(&fixture.run(&hook, &asked));
        assert_eq!((exit, stdout.contains("allow")), (0, lets), "{command}: {stdout}{stderr}");
    }
}

#[test]
fn a_waiting_shell_ends_with_the_message_and_the_next_step() {
    let fixture = Fixture::new();
    let journal = fixture.journal();
    let shell = Command::new(cargo_bin("entraclaw"))
        .args(["wait", "--consumer", "copilot-cli"])
        .env_clear()
        .env("ENTRACLAW_HOME", fixture.home())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    journal.append(vec![draft(1)]).unwrap();
    let (exit, stdout, _) = said(&shell.wait_with_output().unwrap());
    assert_eq!(exit, 0);
    assert!(stdout.contains("From Alice by teams") && stdout.contains("    hello 1\n"), "{stdout}");
    assert!(stdout.contains("chat_id \"19:a\", reply_to [\"m1\"]"), "{stdout}");
    // The printed command runs in a shell that finds neither the program nor the home folder by itself.
    #[cfg(unix)]
    {
        let told = stdout.split('`').nth(1).unwrap();
        let mut shell = Command::new("/bin/sh");
        shell
            .args(["-c", told])
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let shell = shell.spawn().unwrap();
        journal.append(vec![draft(2)]).unwrap();
        let (exit, again, stderr) = said(&shell.wait_with_output().unwrap());
        assert_eq!((exit, stderr.as_str()), (0, ""), "{told}");
        assert!(again.contains("    hello 2\n") && again.contains(&format!("`{told}`")), "{again}");
        assert!(told.contains("/entraclaw-wait --home="), "{told}");
    }
}

#[test]
fn a_timeout_and_a_machine_without_polling_have_their_own_exit_codes() {
    let fixture = Fixture::new();
    drop(fixture.journal());
    let short = ["wait", "--consumer", "codex", "--timeout", "100ms"];
    let (exit, stdout, stderr) = said(&fixture.run(&short, ""));
    assert_eq!((exit, stdout.as_str()), (4, ""), "a short wait does not hide it");
    assert!(stderr.contains("no session has polled"), "{stderr}");
    let storage = DiskStorage::open(&fixture.home()).unwrap();
    storage.create_dir("sessions").unwrap();
    let alive = storage.try_lock("sessions/one.lock").unwrap().unwrap();
    let session = SessionFile { v: 1, id: "one".to_owned(), leads: true, ..SessionFile::default() };
    storage.replace("sessions/one.json", &serde_json::to_vec(&session).unwrap()).unwrap();
    let (exit, stdout, stderr) = said(&fixture.run(&short, ""));
    assert_eq!((exit, stdout.as_str()), (3, ""));
    assert!(stderr.contains("nobody wrote to codex"), "{stderr}");
    drop(alive);
    let (exit, stdout, stderr) = said(&fixture.run(&short, ""));
    assert_eq!((exit, stdout.as_str()), (4, ""));
    assert!(stderr.contains("no session has polled") && stderr.contains("entraclaw status"), "{stderr}");
}

#[test]
fn a_hook_shows_a_message_once_in_json() {
    let fixture = Fixture::new();
    fixture.journal().append(vec![draft(1), draft(2)]).unwrap();
    let stdin = r#"{"session_id":"s","stop_hook_active":false}"#;
    let (exit, stdout, _) = said(&fixture.run(&["hook", "qwen-code", "Stop"], stdin));
    let answer: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((exit, answer["decision"].as_str()), (0, Some("block")));
    assert!(answer["reason"].as_str().unwrap().contains("hello 2"), "{answer}");
    assert_eq!(said(&fixture.run(&["hook", "qwen-code", "Stop"], stdin)), (0, String::new(), String::new()));
}

#[rstest]
#[case::nothing("")]
#[case::no_json("{")]
#[case::another_shape("[1]")]
#[case::long(&format!("{{\"tool_response\":\"{}\"}}", "x".repeat(3 << 20)))]
fn a_hook_exits_with_0_for_any_input(#[case] stdin: &str) {
    let fixture = Fixture::new();
    fixture.journal().append(vec![draft(1)]).unwrap();
    let (exit, stdout, _) = said(&fixture.run(&["hook", "codex", "PostToolUse"], stdin));
    assert!(exit == 0 && stdout.contains("hello 1"), "{exit} {stdout}");
}

#[test]
fn an_unusable_home_is_reported_to_the_person_alone() {
    let fixture = Fixture::new();
    std::fs::write(fixture.home(), "a file").unwrap();
    let (exit, stdout, stderr) = said(&fixture.run(&["hook", "codex", "Stop"], "{}"));
    assert_eq!((exit, stdout.as_str()), (0, ""));
    assert!(stderr.contains("home folder"), "{stderr}");
    let (exit, stdout, _) = said(&fixture.run(&["wait", "--consumer", "codex"], ""));
    assert_eq!((exit, stdout.as_str()), (1, ""));
}

#[test]
fn the_program_that_can_only_wait_does_nothing_else() {
    for arguments in [
        vec!["allow", "mallory@contoso.com"],
        vec!["pair", "123"],
        vec!["serve"],
        vec!["wait"],
        vec!["--tools", "x"],
    ] {
        let output = Command::new(cargo_bin("entraclaw-wait")).args(&arguments).env_clear().output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn copilot_may_run_only_the_command_that_waits() {
    let fixture = Fixture::new();
    let home = fixture.home().display().to_string();
    let ask = |command: &str| {
        let asked = serde_json::json!({"toolName": "bash", "toolInput": {"command": command}});
        said(&fixture.run(&["hook", "copilot-cli", "permissionRequest", "--home", &home], &asked.to_string()))
    };
    let waiter = cargo_bin("entraclaw-wait");
    let wait = format!("{} --home={home} --consumer copilot-cli", waiter.display());
    assert_eq!(ask(&wait), (0, "{\"behavior\":\"allow\"}\n".to_owned(), String::new()));
    for other in [format!("{wait} ; id"), format!("{} pair 1", cargo_bin("entraclaw").display())] {
        assert_eq!(ask(&other), (0, String::new(), String::new()), "{other}");
    }
}
