//! What SIGTERM, SIGINT and crashes make of it.

use std::io::Read as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Child;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rstest::rstest;

use crate::stage::{Stage, lines, texts, until};

/// Sends a signal to a process that was started here.
pub(crate) fn send(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id().try_into().unwrap()), signal).unwrap();
}

fn waits_for(stage: &Stage, text: &str) {
    until(text, || {
        let folder = stage.path("copilot.sessions/session-state");
        let sessions = folder.read_dir().into_iter().flatten().flatten();
        sessions.into_iter().any(|session| {
            let events = session.path().join("events.jsonl");
            stage.read(events.to_str().unwrap()).contains(text)
        })
    });
}

#[rstest]
#[case(Signal::SIGTERM)]
#[case(Signal::SIGINT)]
fn a_signal_in_a_tool_ends_it_with_success(#[case] signal: Signal) {
    let stage = Stage::copilot("answers: [{ tools: [{ name: bash, takes_ms: 60000 }] }]");
    let child = stage.start(&["-p", "hi", "--allow-all-tools"]);
    waits_for(&stage, "tool.execution_start");
    until("the handler", || !stage.events("start").is_empty());
    send(&child, signal);
    let (code, stdout, stderr) = texts(&child.wait_with_output().unwrap());
    assert_eq!(code, Some(0));
    assert!(stdout.ends_with("Operation aborted by user\n\n"), "{stdout}");
    assert!(stderr.starts_with("\n\nExiting…\nError executing prompt: "), "{stderr}");
}

#[test]
fn a_signal_in_json_output_is_told_and_is_a_success() {
    let stage = Stage::copilot("answers: [{ says: So far., hangs: true }]");
    let child = stage.start(&["-p", "hi", "--output-format=json"]);
    waits_for(&stage, "assistant.turn_start");
    send(&child, Signal::SIGTERM);
    let output = child.wait_with_output().unwrap();
    let kinds: Vec<_> = lines(&output).iter().map(|line| line["type"].as_str().unwrap().to_owned()).collect();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(kinds[kinds.len() - 4..], ["abort", "session.info", "assistant.idle", "result"]);
    assert_eq!(stage.events("signal")[0]["signal"], "SIGTERM");
}

#[test]
fn a_stubborn_one_ends_only_by_sigkill() {
    let stage = Stage::copilot("answers: [{ hangs: true, ignores_term: true }]");
    let mut child = stage.start(&["-p", "hi"]);
    waits_for(&stage, "assistant.turn_start");
    send(&child, Signal::SIGTERM);
    until("the signal", || !stage.events("signal").is_empty());
    assert!(child.try_wait().unwrap().is_none());
    send(&child, Signal::SIGKILL);
    assert_eq!(child.wait().unwrap().signal(), Some(9));
}

#[rstest]
#[case("SIGKILL", 9)]
#[case("SIGSEGV", 11)]
fn a_crash_is_a_signal(#[case] crash: &str, #[case] number: i32) {
    let stage = Stage::copilot(&format!("answers: [{{ says: So far., crash: {crash} }}]"));
    let output = stage.run(&["-p", "hi", "-s"]);
    assert_eq!(output.status.signal(), Some(number));
    assert_eq!(output.stdout, b"So far.");
    assert_eq!(stage.events("die")[0]["signal"], crash);
}

#[test]
fn a_signal_before_it_begins_is_the_systems() {
    let stage = Stage::copilot("start_ms: 60000\n");
    let mut child = stage.start(&["-p", "hi"]);
    until("the start", || !stage.events("start").is_empty());
    send(&child, Signal::SIGTERM);
    assert_eq!(child.wait().unwrap().signal(), Some(15));
}

#[test]
fn the_terminal_interface_waits_for_keys() {
    let stage = Stage::copilot("");
    let mut child = stage.start(&["-i", "hi"]);
    let mut begin = [0; 8];
    child.stdout.as_mut().unwrap().read_exact(&mut begin).unwrap();
    assert_eq!(&begin, b"\x1b[?1049h");
    send(&child, Signal::SIGTERM);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_program_without_a_handler_dies_of_the_signal() {
    let stage = Stage::new("codex", "agent: codex\nanswers: [{ says: So far., hangs: true }]");
    let mut child = stage.start(&["exec", "--skip-git-repo-check", "--json", "hi"]);
    until("the session", || stage.path("codex.sessions/sessions").exists());
    send(&child, Signal::SIGTERM);
    assert_eq!(child.wait().unwrap().signal(), Some(15));
    assert_eq!(stage.events("die")[0]["signal"], "SIGTERM");
}
